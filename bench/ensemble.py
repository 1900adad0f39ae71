"""How many members a second an ensemble runs, and how much memory its parent takes.

    make bench NAME=ensemble [SIZE=quick|full]

Two programs: /bin/true, and a shell script that reads and writes ten files, which are copied or linked for each member. Peers:
threads with subprocess, GNU parallel, Dask, Parsl, where they are installed. Only ours has limits and a journal.
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
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table
from tailrace.ensemble import Ensemble

from bench import harness
from bench.harness import Claim, console, ensemble_peers
from bench.harness.ensemble_peers import CASES, LINKS, TRUE, command_of

OURS = "ours"
ROUNDS, MEMBERS = {"quick": 2, "full": 9}, {"quick": 200, "full": 1000}
RUN_S = 0.4  # about what a peer runs each time: slow ones have fewer members
FEWEST = 20  # members of a run; the first one, which warms up, has so many
MEMORY = {"quick": (300, 1500), "full": (1000, 100_000)}


def make_inputs(folder: Path) -> Path:
    inputs = folder / "inputs"
    inputs.mkdir()
    for number in range(10):
        # The shell reads a line byte by byte; with one long line it took 80 ms of each member, and staging could not be seen.
        (inputs / f"in{number}.txt").write_text(100 * ("x" * 39 + "\n"))
    return inputs


def ours(workers: int, case: str, folder: Path, members: int) -> None:
    from tailrace.toml_table import literal

    read_only = 'read_only = ["*"]\n' if case == LINKS else ""
    inputs = "" if case == TRUE else f"[inputs]\ndirectory = {literal(str(folder / 'inputs'))}\n{read_only}"
    results = "" if case == TRUE else "[results]\nline = { file = 'out9.txt', regex = '(x+)' }\n"
    path = folder / "ensemble.toml"
    path.write_text(
        f"command = {literal(command_of(case))}\n{inputs}{results}[parameters]\nmembers = {members}\n"
        f"[engine]\nworkers = {workers}\nscratch = {literal(str(folder))}\n"
    )
    out = folder / "out"
    summary = Ensemble(path, out).run()
    assert summary["good"] == members, summary
    shutil.rmtree(out)


def parent_mib(members: int) -> float:
    """The most memory of a process that runs so many members."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.ensemble", "--memory-of", str(members)], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def measure(size: str, folder: Path) -> list[dict[str, Any]]:
    """The methods run in turn, and in the opposite order in every second round. Dask and Parsl wait, idle, while others run."""
    rows = []
    for workers in (1, 2):
        with ensemble_peers.opened(workers, folder) as peers:
            runs: dict[tuple[str, str], ensemble_peers.Run] = {}
            for case in CASES:
                runs[case, OURS] = partial(ours, workers, case, folder)
                runs |= {(case, name): peer(case) for name, peer in peers.items()}
            counts = {key: MEMBERS[size] if key[1] == OURS else fitting(run, MEMBERS[size]) for key, run in runs.items()}
            for number in range(ROUNDS[size]):
                order = list(runs.items())
                for key, run in order if number % 2 == 0 else order[::-1]:
                    member_s = seconds_of(run, counts[key]) / counts[key]
                    about = {"case": key[0], "workers": workers, "method": key[1], "round": number}
                    rows.append({**about, "members": counts[key], "member_s": member_s})
    return rows


def fitting(run: ensemble_peers.Run, most: int) -> int:
    """How many members take about RUN_S. Warms up."""
    return max(FEWEST, min(most, int(RUN_S * FEWEST / seconds_of(run, FEWEST))))


def seconds_of(run: ensemble_peers.Run, members: int) -> float:
    begin = time.monotonic()
    run(members)
    return time.monotonic() - begin


Cell = tuple[str, int, str]  # case, workers, method


def by_cell(rows: list[dict[str, Any]]) -> dict[Cell, dict[int, float]]:
    """Seconds of a member by round."""
    found: dict[Cell, dict[int, float]] = {}
    for row in rows:
        found.setdefault((row["case"], row["workers"], row["method"]), {})[row["round"]] = row["member_s"]
    return found


def claims_of(cells: dict[Cell, dict[int, float]], memory: tuple[float, float]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("ensemble")["claims"]}
    claims = []
    for (case, workers, method), member_s in cells.items():
        claim_id = "staged" if case != TRUE else "true" if method == "threads" else ""
        if claim_id and method != OURS:
            where = f"{method}/{workers}" if case == TRUE else f"{case.rpartition(' ')[2]}/{method}/{workers}"
            claims.append(harness.ratio_claim(wanted[claim_id], where, member_s, cells[case, workers, OURS]))
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
            ours(2, TRUE, folder, arguments.memory_of)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            return 0
        settings = {"file system": harness.filesystem_of(folder), "members": str(MEMBERS[arguments.size])}
        harness.print_settings("Ensembles: members a second", settings)
        for line in ensemble_peers.not_installed():
            console.print(line)
        rows = measure(arguments.size, folder)
        few, many = MEMORY[arguments.size]
        memory = parent_mib(few), parent_mib(many)
    cells = by_cell(rows)
    table = Table("program", "workers", "method", "members/s", "ms a member")
    for (case, workers, method), member_s in cells.items():
        middle_s = statistics.median(member_s.values())
        table.add_row(case, str(workers), method, f"{1 / middle_s:.0f}", f"{1000 * workers * middle_s:.2f}")
    console.print(table)
    console.print(f"parent: {memory[0]:.0f} MiB with {few} members, {memory[1]:.0f} MiB with {many}")
    claims = claims_of(cells, memory)
    rows.append({"case": "memory", "few": few, "many": many, "mib": memory})
    title = "Claims (their time of a member / ours; more than 1: ours is faster)"
    return harness.conclude("ensemble", {"size": arguments.size, **settings}, rows, claims, title)


if __name__ == "__main__":
    sys.exit(main())
