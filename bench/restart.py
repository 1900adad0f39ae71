"""Reads a restart on other numbers of ranks than wrote it: Tailrace, raw reads and the peers, from the page cache and the device.

    make bench NAME=restart [SIZE=quick|full]
    make bench NAME=restart SIZE=full ARGS="--cells 2-to-4/shm/*"    # all the time for some cells: more repetitions

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import itertools
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import harness
from bench.harness import Claim, methods
from bench.harness.methods import Column, Entry, Row, Tuned

RANK_BYTES = 8 * 16 << 20  # case `large` of bench write, one step
MODES = {
    "cached": "cached: the files are in the page cache",
    "dropped": "dropped: the pages of the files were dropped before each read",
}
CLAIMED: str = harness.bounds("restart")["claimed_mode"]  # other modes are measured with the time that is left
LEAST, MOST = 3, 15  # measured repetitions of a claimed cell; the warm-up is not one of them
LEAST_BESIDE, MOST_BESIDE = 1, 3


@dataclasses.dataclass(frozen=True)
class Case:
    writers: int
    readers: int
    split: str  # the readers' blocks: rows or blocks; the writers have rows

    @property
    def written_bytes(self) -> int:
        return RANK_BYTES * self.writers


CASES = {
    "2-to-4": Case(2, 4, "rows"),
    "4-to-2": Case(4, 2, "rows"),
    "4-to-3": Case(4, 3, "rows"),
    "4-to-4-blocks": Case(4, 4, "blocks"),
    "4-to-3-blocks": Case(4, 3, "blocks"),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    case: str
    target: str  # "disk" or "shm"
    mode: str

    @property
    def key(self) -> str:
        return f"{self.case}/{self.target}/{self.mode}"

    @property
    def of(self) -> Case:
        return CASES[self.case]

    @property
    def weight(self) -> float:
        """The approximate cost of a repetition relative to other cells; the bench's time is divided by it."""
        return self.of.writers * (1.5 if self.of.split == "blocks" else 1.0)

    @property
    def tuning_weight(self) -> float:
        """The same for the tuning. Other cells of the case take the settings that are tuned for the page cache of the disk."""
        return self.weight * (1.2 if self.of.split == "blocks" else 0.6) if self.target == "disk" and self.is_claimed else 0.0

    @property
    def is_claimed(self) -> bool:
        return self.mode == CLAIMED


@dataclasses.dataclass(frozen=True)
class Size:
    seconds: float
    targets: tuple[str, ...]
    cases: tuple[str, ...]
    modes: tuple[str, ...]
    pattern: str = "*"  # of the cells' keys

    def cells(self) -> list[Cell]:
        """Those whose key matches the pattern, claimed cells first. Cells that read the same files follow each other."""
        cells = [
            Cell(case, target, mode)
            for mode, target, case in itertools.product(self.modes, self.targets, self.cases)
            if target == "disk" or mode == CLAIMED
        ]
        return [cell for cell in cells if fnmatch.fnmatchcase(cell.key, self.pattern)]


SIZES = {
    "quick": Size(55, ("disk",), ("2-to-4", "4-to-3-blocks"), ("cached",)),
    "full": Size(560, ("disk", "shm"), tuple(CASES), tuple(MODES)),
}


def directory_of(target: str) -> Path:
    return harness.BUILD / "bench-scratch" / "restart" if target == "disk" else Path("/dev/shm/tailrace-bench-restart")


def write_files(target: str, writers: int, entries: Sequence[Entry]) -> None:
    """Writes all files that the entries read, by bench_write, which reads them back. Each is in a folder of its own, on the
    device."""
    names = {entry.files for entry in entries}
    arguments = {"case": "large", "steps": 1, "directory": directory_of(target), "durable": 1, "keep": 1}
    once = {"seconds": 0, "least": 0, "most": 0}
    chosen = [entry for entry in methods.list_entries("bench_write") if entry.name in names]
    for _ in methods.run_entries("bench_write", writers, chosen, {**arguments, **once}, methods.MPI_IO[0]):
        pass


def run_cell(cell: Cell, entries: Sequence[Entry], *, seconds: float, least: int, most: int, mpi_io: str) -> Iterable[Row]:
    """Rows of a cell as they are measured."""
    arguments = {
        "writers": cell.of.writers,
        "split": cell.of.split,
        "directory": directory_of(cell.target),
        "mode": cell.mode,
        "seconds": f"{seconds:.1f}",
        "least": least,
        "most": most,
    }
    for row in methods.run_entries("bench_restart", cell.of.readers, entries, arguments, mpi_io):
        yield {**dataclasses.asdict(cell), **row}


def is_tried(entry: Entry, case: Case, mpi_io: str) -> bool:
    """The variants `direct` and `sieving` are hints of ROMIO for data that is not contiguous; rows are contiguous."""
    return not entry.variant.endswith(("direct", "sieving")) or (case.split == "blocks" and mpi_io == "romio321")


def tune(cell: Cell, entries: Sequence[Entry], claimed: set[str], advance: Callable[[str], None]) -> Tuned:
    """The claims are against the strongest claimed peer, so its time decides which MPI-IO is taken."""

    def run(chosen: Sequence[Entry], repetitions: int, mpi_io: str) -> Iterable[Row]:
        tried = [entry for entry in chosen if is_tried(entry, cell.of, mpi_io)]
        for row in run_cell(cell, tried, seconds=0, least=repetitions, most=repetitions, mpi_io=mpi_io):
            advance(f"tuning, {cell.key}, {mpi_io}: {row['entry']}")
            yield row

    def strongest(best: methods.Best) -> float:
        return min(seconds for method, (seconds, _) in best.items() if method in claimed)

    return methods.tune(entries, run, raw=1, peers=1, judge=strongest)


def measure(size: Size, entries: Sequence[Entry], claimed: set[str]) -> tuple[list[Row], dict[str, Tuned]]:
    deadline = time.monotonic() + size.seconds
    rows: list[Row] = []
    tuned: dict[str, Tuned] = {}
    remaining = sum(cell.weight + cell.tuning_weight for cell in size.cells())
    with methods.progress_bar() as progress:
        bar = progress.add_task("", total=size.seconds)

        def advance(text: str) -> None:
            progress.update(bar, completed=size.seconds - max(0.0, deadline - time.monotonic()), description=text)

        for (target, writers, mode), cells in itertools.groupby(
            size.cells(), key=lambda cell: (cell.target, cell.of.writers, cell.mode)
        ):
            if mode != CLAIMED and rows and time.monotonic() > deadline:
                break
            advance(f"writing on {writers} ranks, {target}")
            write_files(target, writers, entries)
            for cell in cells:
                key = cell.case
                if key not in tuned:
                    tuned[key] = tune(cell, entries, claimed, advance)
                remaining -= cell.tuning_weight
                seconds = max(0.0, (deadline - time.monotonic()) * cell.weight / remaining)
                chosen = [entry for entry in entries if entry.is_ours] + list(tuned[key].entries)
                least, most = (LEAST, MOST) if cell.is_claimed else (LEAST_BESIDE, MOST_BESIDE)
                for row in run_cell(cell, chosen, seconds=seconds, least=least, most=most, mpi_io=tuned[key].mpi_io):
                    rows.append(row)
                    advance(f"{cell.key}, repetition {row['repetition'] or 'to warm up'}: {row['entry']}")
                remaining -= cell.weight
            shutil.rmtree(directory_of(target))
    return rows, tuned


def claims_of(rows: Sequence[Row], cells: Sequence[Cell], bounds: Mapping[str, Any]) -> list[Claim]:
    found = [
        methods.claim_of(wanted, cell.key, f"{wanted['ours']}:default", methods.times_by_entry(rows, cell))
        for cell, wanted in itertools.product(cells, bounds["claims"])
        if cell.is_claimed
    ]
    return [claim for claim in found if claim is not None]


def print_cells(rows: Sequence[Row], cells: Sequence[Cell], entries: Sequence[Entry]) -> None:
    """One table for each mode."""
    for mode in dict.fromkeys(cell.mode for cell in cells):
        columns = [
            Column(cell.key.replace("/", "\n"), cell.of.written_bytes, methods.times_by_entry(rows, cell))
            for cell in cells
            if cell.mode == mode
        ]
        methods.print_speeds(MODES[mode], columns, entries)


def print_settings(size: Size, entries: Sequence[Entry], tuned: Mapping[str, Tuned], rows: Sequence[Row]) -> None:
    settings = {"arrays": "8 of 16 MiB a writing rank, 64-bit floats, one step; written as rows"}
    for name in size.cases:
        case = CASES[name]
        settings[f"case {name}"] = f"{case.writers} ranks wrote, {case.readers} read {case.split}"
    for target in size.targets:
        settings[f"target {target}"] = harness.filesystem_of(directory_of(target))
    repetitions = {cell.key: methods.repetitions(rows_of(rows, cell)) for cell in size.cells() if rows_of(rows, cell)}
    settings["repetitions"] = ", ".join(f"{key} {count}" for key, count in repetitions.items())
    left = max((row["undropped_bytes"] / row["bytes"] for row in rows if row["mode"] == "dropped"), default=None)
    if left is not None:
        settings["mode dropped"] = f"fsync and posix_fadvise(DONTNEED) by each rank; at most {left:.1%} of a method's pages stayed"
    methods.print_settings(settings, entries, tuned)


def rows_of(rows: Sequence[Row], cell: Cell) -> list[Row]:
    return [row for row in rows if (row["case"], row["target"], row["mode"]) == dataclasses.astuple(cell)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.restart", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument(
        "--cells", default="*", metavar="PATTERN", help="measure only these cells, such as '2-to-4/shm/*', with all the time"
    )
    given = parser.parse_args()
    name, size = given.size, dataclasses.replace(SIZES[given.size], pattern=given.cells)
    methods.refuse_no_cells(size.cells(), given.cells, name, (cell.key for cell in SIZES[name].cells()))
    entries = methods.list_entries("bench_restart")
    files_bytes = len({entry.files for entry in entries}) * max(CASES[case].written_bytes for case in size.cases)
    for target in size.targets:
        shutil.rmtree(directory_of(target), ignore_errors=True)
        harness.need_space(directory_of(target), files_bytes + (1 << 30))
    # Memory for all files, the arrays, the copies while they are written, and some room.
    harness.need_memory(files_bytes + (2 << 30))
    bounds = harness.bounds("restart")
    started = time.monotonic()
    try:
        rows, tuned = measure(size, entries, {peer for claim in bounds["claims"] for peer in claim["peers"]})
    finally:
        for target in size.targets:
            shutil.rmtree(directory_of(target), ignore_errors=True)
    cells = [cell for cell in size.cells() if rows_of(rows, cell)]
    if len(cells) < len(size.cells()):
        harness.console.print(
            f"{len(size.cells()) - len(cells)} cells without claims: not measured, because the others took longer than planned"
        )
    print_settings(size, entries, tuned, rows)
    print_cells(rows, cells, entries)
    claims = claims_of(rows, cells, bounds)
    harness.print_claims(claims)
    record = "restart" if given.cells == "*" else "restart-cells"
    path = harness.write_record(record, {"size": name, **methods.record_of(entries, tuned)}, rows, claims)
    return methods.finish(name, rows, claims, path, started, size.seconds, LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench restart: {error}")
