"""Whether the gain that `tailrace run --compare` names is the gain that a user then has.

    make bench NAME=compare [SIZE=quick|full]

Three programs whose remedy is known; one of them runs on two nodes of a cluster. For each, `run --compare` names a ratio: until the
files are on the device, plainly over placed. The same two ways are measured without it, by turns, in folders of their own: the
command alone and `sync -f`, and `tailrace run --config` and `sync -f`. Every byte of both ways is compared with the program's
formula.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from tailrace.place.compiled import compiled
from tailrace.place.mapping import Mapping
from tailrace.place.rules import read_rules

from bench import harness
from bench.harness import Claim, Spread, console, login, small_files
from bench.harness.causes import directories_without_index, ext4_on_loop
from bench.harness.small_files import Place, ran

ROUNDS = {"quick": 3, "full": 5}
TREE = '[[place.tree]]\nfiles = "out/f{number:number}"\nto = "d{number%100}"\n'
STAGE = '[stage]\nfiles = ["out/**"]\nscratch = "{memory}"\nsink = "bundle"\nmin_free = "64 MiB"\n'
FILE_BYTES = 500
FIRST_LEFT = 10_000_000  # the number of the first file that an earlier run has left
# Makes files out/fN for numbers in a range; each has its number again and again.
WRITER = """
import os, sys
os.makedirs("out", exist_ok=True)
for number in range(int(sys.argv[1]), int(sys.argv[2])):
    file = os.open(f"out/f{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(file, (b"%d " % number * 500)[:500])
    os.close(file)
"""

# Notes when a program begins and ends, in nanoseconds; the start of Tailrace itself is not in it. A script with the name of a
# launcher, by which Tailrace knows it, runs that: {program}. Otherwise the words name the program.
CLOCKED = """#!/bin/sh
date +%s%N > '{clock}' && {program} "$@" && date +%s%N >> '{clock}'
"""


@dataclass(frozen=True)
class Case:
    name: str
    files: dict[str, int]  # by size of the bench
    leftovers: dict[str, int]
    rules: str
    where: str  # staged, index, or no index
    staged: bool = False

    def words(self, place: Place, size: str, first: int = 0) -> list[str]:
        """`first`: number of the first file. Of names that were there before the kernel knows that they are gone."""
        if self.staged:
            return place.program(Path("out"), self.files[size], False)
        return [sys.executable, "-I", "-S", "-c", WRITER, str(first), str(first + self.files[size])]


CASES = (
    Case("create storm", {"quick": 1_500, "full": 4_000}, {"quick": 4_000, "full": 8_000}, TREE, "no index"),
    Case("small files", {"quick": 400, "full": 20_000}, {"quick": 0, "full": 0}, STAGE, "staged", staged=True),
    Case("leftovers", {"quick": 1_500, "full": 4_000}, {"quick": 4_000, "full": 100_000}, TREE, "index"),
)


def prepare(case: Case, folder: Path, memory: Path, size: str) -> None:
    """A working folder as a run without rules has left it. Directories of ext4 stay as large as they were: each way has its own."""
    folder.mkdir(parents=True)
    if not case.staged:  # that program makes the folder itself
        (folder / "out").mkdir()
    (folder / "tailrace.toml").write_text(case.rules.format(memory=memory) if case.staged else case.rules)
    for number in range(FIRST_LEFT, FIRST_LEFT + case.leftovers[size]):
        (folder / "out" / f"f{number}").touch()


def tailrace(*words: str) -> list[str]:
    return [str(harness.BUILD / "bin" / "tailrace"), "run", *words]


def clocked(words: list[str], clock: Path, *, launcher: bool) -> list[str]:
    """The words, such that the file `clock` has when the program began and when it ended."""
    script = clock.parent / (Path(words[0]).name if launcher else "clocked")
    script.write_text(CLOCKED.format(clock=clock, program=shutil.which(words[0]) if launcher else ""))
    script.chmod(0o755)
    return [str(script), *(words[1:] if launcher else words)]


def claimed(case: Case, folder: Path, place: Place, size: str) -> dict[str, Any]:
    """What the comparison says, in a flat folder."""
    options = ["--compare", "--json", "--rounds", str(ROUNDS[size]), *([] if case.staged else ["--no-trace"])]
    found: dict[str, Any] = json.loads(ran([*tailrace(*options), "--", *case.words(place, size)], folder))
    if not found["files"]["identical"] or found["files"]["not_comparable"]:
        raise harness.BenchError(f"{case.name}: the comparison found other files: {found['files']}")
    return found


def one_way(case: Case, folder: Path, place: Place, size: str, first: int, *, placed: bool, checks: bool) -> dict[str, float]:
    """Seconds of the program, and from its begin until its files are on the device. They are put away; before that each is read, if
    `checks`."""
    ran(["sync", "-f", "."], folder)
    clock = folder / "clock"
    words = clocked(case.words(place, size, first), clock, launcher=case.staged and place.has_nodes)
    if placed:
        options = ["--log", str(folder / "log")] if case.staged else ["--no-trace"]
        words = [*tailrace("--config", "tailrace.toml", *options, "--"), *words]
    ran(words, folder)
    command_end_ns = time.time_ns()
    begin_ns, end_ns = map(int, clock.read_text().split())
    # After that the command reads the log, or looks for flat files, for which nobody waits. A bundle gets its name last. MooseFS
    # has times of whole seconds, so on the cluster the end of the command counts.
    bundled_ns = [command_end_ns if place.has_nodes else path.stat().st_ctime_ns for path in folder.glob("*.tar")]
    written_ns = max([end_ns, *bundled_ns])
    sync_ns = time.time_ns()
    ran(["sync", "-f", "."], folder)
    seconds = {"program_s": (end_ns - begin_ns) / 1e9, "seconds": (written_ns - begin_ns + time.time_ns() - sync_ns) / 1e9}
    if case.staged:
        if checks:
            small_files.check(folder, case.files[size])
        used = Path(tempfile.mkdtemp(prefix="used-", dir=folder.parent))  # removed at the end, as in bench stage
        for path in (folder / "out", folder / "log", *folder.glob("*.tar")):
            if path.exists():
                path.rename(used / path.name)
    else:
        _check_and_remove(folder, range(first, first + case.files[size]), placed=placed, checks=checks)
    return seconds


def _check_and_remove(folder: Path, numbers: range, *, placed: bool, checks: bool) -> None:
    mapping = Mapping(compiled(read_rules(folder / "tailrace.toml")))
    for number in numbers:
        flat = folder / "out" / f"f{number}"
        found = mapping.physical(str(flat)) if placed else None
        path = Path(found[0]) if found else flat
        if checks and path.read_bytes() != (b"%d " % number * FILE_BYTES)[:FILE_BYTES]:
            raise harness.BenchError(f"{path}: other bytes than the program wrote")
        path.unlink()
    for inner in (folder / "out").glob("d*"):
        shutil.rmtree(inner)


def measured(case: Case, folders: dict[bool, Path], place: Place, size: str) -> Iterator[dict[str, Any]]:
    for round_number in range(ROUNDS[size] + 1):  # round 0 warms up, and its files are compared
        harness.note_progress(f"{case.name}: round {round_number} of {ROUNDS[size]}")
        for placed in (False, True) if round_number % 2 == 0 else (True, False):
            first = round_number * case.files[size]
            seconds = one_way(case, folders[placed], place, size, first, placed=placed, checks=round_number == 0)
            if round_number > 0:
                yield {"case": case.name, "placed": placed, "round": round_number, **seconds}


def claim_of(wanted: dict[str, Any], case: Case, rows: list[dict[str, Any]], comparison: dict[str, Any]) -> Claim:
    """The larger of both gains over the smaller one."""
    times = [{row["round"]: row["seconds"] for row in rows if row["placed"] is placed} for placed in (False, True)]
    gain = harness.ratio_claim(wanted, case.name, *times)
    said = comparison["measures"]["time until files are on the device"]["ratio"]
    factor = max(said / gain.value, gain.value / said)
    detail = {"against": f"{said:.2f} claimed, {gain.value:.2f} measured", "claimed": said, "measured": gain.value}
    detail["interval_of_measured"] = gain.detail["interval"]
    return Claim(gain.id, wanted["text"], factor, wanted["bound"], "ratio", detail, at_most=True)


def print_rows(rows: list[dict[str, Any]], comparisons: dict[str, dict[str, Any]]) -> None:
    table = Table(title="Seconds until files are on the device: median, least and most", title_justify="left")
    for heading in ("program", "way", "by hand", "", "by run --compare", ""):
        table.add_column(heading, justify="left" if heading in ("program", "way") else "right")
    for case in CASES:
        for way, placed in (("plain", False), ("placed", True)):
            spread = Spread.of([row["seconds"] for row in rows if (row["case"], row["placed"]) == (case.name, placed)])
            said = comparisons[case.name]["measures"]["time until files are on the device"][way]
            table.add_row(
                case.name,
                way,
                f"{spread.median:.2f}",
                f"{spread.least:.2f} to {spread.most:.2f}",
                f"{said['median']:.2f}",
                f"{said['low']:.2f} to {said['high']:.2f}",
            )
    console.print(table)


def _room(where: str, size: str) -> tuple[int, int]:
    """Inodes and bytes of the file system of a case: two working folders, and a copy of one."""
    (case,) = (case for case in CASES if case.where == where)
    inodes = 5 * (case.files[size] + case.leftovers[size]) + 20_000
    return inodes, inodes * 4096 + (256 << 20)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    size = parser.parse_args().size
    disk = Path(tempfile.mkdtemp(prefix="bench-compare-", dir=harness.BUILD))
    memory = Path(tempfile.mkdtemp(prefix="bench-compare-", dir="/dev/shm"))
    rows: list[dict[str, Any]] = []
    comparisons: dict[str, dict[str, Any]] = {}
    wanted = harness.bounds("compare")["claims"][0]
    try:
        bytes_staged = max(case.files[size] for case in CASES if case.staged) * small_files.FILE_BYTES
        harness.need_space(memory, 2 * bytes_staged)
        harness.need_space(disk, 6 * bytes_staged)
        with (
            directories_without_index(disk / "no index", *_room("no index", size)) as without,
            ext4_on_loop(disk / "index", *_room("index", size)) as with_index,
        ):
            has_nodes = login.has_cluster()
            staged = login.SHARED if has_nodes else disk
            folders_of = {"staged": staged, "no index": without, "index": with_index}
            place = Place("cluster" if has_nodes else "local disk", staged, login.SCRATCH if has_nodes else memory, has_nodes)
            on_cluster = f"MooseFS, {login.NODES} nodes of this machine; scratch in memory"
            settings = {
                "create storm": "ext4 without dir_index, on a loop device",
                "leftovers": "ext4 with dir_index, on a loop device",
                "small files": on_cluster if has_nodes else f"local disk ({harness.filesystem_of(disk)}), not a cluster",
                "files": "; ".join(f"{case.name}: {case.files[size]:,} beside {case.leftovers[size]:,}" for case in CASES),
                "rounds": str(ROUNDS[size]),
            }
            harness.print_settings("What run --compare names, and what is gained", settings)
            for case in CASES:
                top = folders_of[case.where] / case.name
                folders = {placed: top / ("placed" if placed else "plain") for placed in (False, True)}
                for folder in folders.values():
                    prepare(case, folder, place.memory, size)
                rows += measured(case, folders, place, size)
                comparisons[case.name] = claimed(case, folders[False], place, size)  # last: it removes its files
                if not (case.staged and has_nodes):  # the cluster ends with its file system
                    shutil.rmtree(top)
        print_rows(rows, comparisons)
        claims = [
            claim_of(wanted, case, [row for row in rows if row["case"] == case.name], comparisons[case.name]) for case in CASES
        ]
        said = [{"case": name, "comparison": found["measures"]} for name, found in comparisons.items()]
        title = "Claims: the larger of the gain that is named and the measured one, over the smaller"
        return harness.conclude("compare", {"size": size, **settings}, [*rows, *said], claims, title)
    finally:
        shutil.rmtree(disk)
        shutil.rmtree(memory)


if __name__ == "__main__":
    sys.exit(login.on_login("bench.compare", main))
