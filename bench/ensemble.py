"""How many members a second an ensemble runs, and how much memory its parent takes.

    make bench NAME=ensemble [SIZE=quick|full]

Two programs: /bin/true, and a shell script that reads and writes ten files. Peers: threads with subprocess, where nothing is
staged; the same with shutil copies of the inputs; GNU parallel with cp, where it is installed. Only ours has limits and a journal.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.table import Table
from tailrace.ensemble import Ensemble

from bench import harness
from bench.harness import Claim, console

ROUNDS, MEMBERS = {"quick": 2, "full": 9}, {"quick": 200, "full": 1000}
MEMORY = {"quick": (300, 1500), "full": (1000, 100_000)}
SCRIPT = "for n in 0 1 2 3 4 5 6 7 8 9; do read line < in$n.txt; echo $line > out$n.txt; done"
CASES = ("true", "ten files")


def command_of(case: str) -> list[str]:
    return ["/bin/true"] if case == "true" else ["/bin/sh", "-c", SCRIPT]


def make_inputs(folder: Path) -> Path:
    inputs = folder / "inputs"
    inputs.mkdir()
    for number in range(10):
        # The shell reads a line byte by byte; with one long line it took 80 ms of each member, and staging could not be seen.
        (inputs / f"in{number}.txt").write_text(100 * ("x" * 39 + "\n"))
    return inputs


def ours(case: str, folder: Path, workers: int, members: int) -> None:
    from tailrace.toml_table import literal

    inputs = "" if case == "true" else f"[inputs]\ndirectory = {literal(str(folder / 'inputs'))}\n"
    results = "" if case == "true" else "[results]\nline = { file = 'out9.txt', regex = '(x+)' }\n"
    path = folder / "ensemble.toml"
    path.write_text(
        f"command = {literal(command_of(case))}\n{inputs}{results}[parameters]\nmembers = {members}\n"
        f"[engine]\nworkers = {workers}\nscratch = {literal(str(folder))}\n"
    )
    out = folder / "out"
    summary = Ensemble(path, out).run()
    assert summary["good"] == members, summary
    shutil.rmtree(out)


def bare(case: str, folder: Path, workers: int, members: int) -> None:
    command = command_of(case)
    with ThreadPoolExecutor(workers) as pool:
        for done in pool.map(lambda member: subprocess.run(command, stdin=subprocess.DEVNULL, check=True), range(members)):
            assert done.returncode == 0


def copies(case: str, folder: Path, workers: int, members: int) -> None:
    def one(member: int) -> str:
        directory = folder / f"copy{member}"
        shutil.copytree(folder / "inputs", directory)
        subprocess.run(command_of(case), cwd=directory, stdin=subprocess.DEVNULL, check=True)
        line = (directory / "out9.txt").read_text()
        shutil.rmtree(directory)
        return line

    with ThreadPoolExecutor(workers) as pool:
        assert all(len(line) == 40 for line in pool.map(one, range(members)))


def gnu_parallel(case: str, folder: Path, workers: int, members: int) -> None:
    staged = f"cp -r {folder}/inputs {folder}/p{{}} && cd {folder}/p{{}} && ({SCRIPT}) && rm -r {folder}/p{{}}"
    words = ["parallel", "--will-cite", f"-j{workers}", "/bin/true" if case == "true" else staged, ":::", *map(str, range(members))]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def methods_of(case: str) -> dict[str, Callable[[str, Path, int, int], None]]:
    found: dict[str, Callable[[str, Path, int, int], None]] = {"ours": ours}
    found |= {"bare subprocess": bare} if case == "true" else {"shutil copies": copies}
    return found | ({"GNU parallel": gnu_parallel} if shutil.which("parallel") else {})


def parent_mib(members: int) -> float:
    """The most memory of a process that runs so many members."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.ensemble", "--memory-of", str(members)], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def measure(size: str, folder: Path) -> list[dict[str, Any]]:
    rows = []
    for number in range(ROUNDS[size]):
        for case in CASES:
            for workers in (1, 2):
                methods = list(methods_of(case).items())
                for name, run in methods if number % 2 == 0 else methods[::-1]:
                    begin = time.monotonic()
                    run(case, folder, workers, MEMBERS[size])
                    per_s = MEMBERS[size] / (time.monotonic() - begin)
                    rows.append({"case": case, "workers": workers, "method": name, "round": number, "per_s": per_s})
    return rows


def medians(rows: list[dict[str, Any]]) -> dict[tuple[str, int, str], float]:
    keys = dict.fromkeys((row["case"], row["workers"], row["method"]) for row in rows)
    return {
        key: statistics.median(row["per_s"] for row in rows if (row["case"], row["workers"], row["method"]) == key) for key in keys
    }


def claims_of(middle: dict[tuple[str, int, str], float], memory: tuple[float, float]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("ensemble")["claims"]}
    claims = []
    for (case, workers, method), per_s in middle.items():
        claim_id = "true" if method == "bare subprocess" else "staged" if case != "true" and method != "ours" else ""
        if claim_id:
            text, bound = wanted[claim_id]["text"], wanted[claim_id]["bound"]
            claims.append(Claim(f"{claim_id}/{method}/{workers}", text, middle[case, workers, "ours"] / per_s, bound))
    claims.append(Claim("memory", wanted["memory"]["text"], memory[1] / memory[0], wanted["memory"]["bound"], "ratio", {}, True))
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.ensemble", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_inputs(folder)
        if arguments.memory_of:
            ours("true", folder, 2, arguments.memory_of)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            return 0
        settings = {"file system": harness.filesystem_of(folder), "members": str(MEMBERS[arguments.size])}
        harness.print_settings("Ensembles: members a second", settings)
        rows = measure(arguments.size, folder)
        few, many = MEMORY[arguments.size]
        memory = parent_mib(few), parent_mib(many)
    middle = medians(rows)
    table = Table("program", "workers", "method", "members/s", "ms a member")
    for (case, workers, method), per_s in middle.items():
        table.add_row(case, str(workers), method, f"{per_s:.0f}", f"{1000 * workers / per_s:.2f}")
    console.print(table)
    console.print(f"parent: {memory[0]:.0f} MiB with {few} members, {memory[1]:.0f} MiB with {many}")
    claims = claims_of(middle, memory)
    harness.print_claims(claims, "Claims (ours over the other)")
    rows.append({"case": "memory", "few": few, "many": many, "mib": memory})
    path = harness.write_record("ensemble", {"size": arguments.size, **settings}, rows, claims)
    console.print(f"{path.relative_to(harness.ROOT)}")
    return 0 if arguments.size == "quick" or all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
