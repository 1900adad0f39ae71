"""Writes the same arrays through Tailrace, raw POSIX calls and the peers: to the page cache and fsynced, large and small arrays.

    make bench NAME=write [SIZE=quick|full]
    make bench NAME=write SIZE=full ARGS="--cells large/disk/*"      # all the time for some cells: more repetitions
    make bench NAME=write SIZE=full ARGS=--add                       # again: with the timings recorded before

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import itertools
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, console, methods, scattered
from bench.harness.methods import Column, Entry, Row, Tuned

RANK_STEP_BYTES = {"large": 8 * 16 << 20, "small": 100 * 64 << 10}
CASE_TEXT = {"large": "8 arrays of 16 MiB a rank", "small": "100 arrays of 64 KiB a rank"}
MODES = {
    "cache": "page cache: the clock stops when all files are closed",
    "fsync": "fsynced: when all data and names are on the device",
}
SYNCED = "every method: all files and names after the last step; the device starts writing small files before"
TUNING_STEPS = {"large": 1, "small": 5}
LEAST, MOST = 3, 15  # measured repetitions of a cell; the warm-up is not one of them
LEAST_OF_MANY = 2  # for cells with more ranks than cores, whose runs take longest
WEAK = 1.25  # a peer that took this many times as long as the fastest with as many files stops, and is not run on more ranks
# The relative cost of warm-up and LEAST repetitions, by which the remaining time is divided.
WEIGHT = {("large", "cache"): 2.6, ("large", "fsync"): 3.4, ("small", "cache"): 1.4, ("small", "fsync"): 1.8}


@dataclasses.dataclass(frozen=True)
class Cell:
    case: str
    target: str  # "disk" or "shm"
    ranks: int
    mode: str

    @property
    def key(self) -> str:
        return f"{self.case}/{self.target}/{self.ranks}/{self.mode}"

    def is_of(self, row: Row) -> bool:
        return all(row[key] == value for key, value in dataclasses.asdict(self).items())

    @property
    def weight(self) -> float:
        return WEIGHT[self.case, self.mode] * (self.ranks / 2 if self.case == "large" else 1.0)


@dataclasses.dataclass(frozen=True)
class Size:
    seconds: float
    targets: tuple[str, ...]
    ranks: tuple[int, ...]
    steps: Mapping[str, int]
    tuning: int  # measured repetitions of a peer's settings; 0: the warm-up counts
    race: int  # repetitions after which only methods in claims continue

    def cells(self, pattern: str = "*") -> list[Cell]:
        """The cells in their order whose key matches the pattern."""
        cells = [
            Cell(case, target, ranks, mode)
            for case, target, ranks, mode in itertools.product(("large", "small"), self.targets, self.ranks, MODES)
            if (target, mode) != ("shm", "fsync")  # fsync returns at once there
        ]
        return [cell for cell in cells if fnmatch.fnmatchcase(cell.key, pattern)]


SIZES = {
    "quick": Size(75, ("disk",), (2,), {"large": 1, "small": 5}, tuning=0, race=1),
    "full": Size(570, ("disk", "shm"), (2, 4), {"large": 2, "small": 10}, tuning=1, race=1),
}


def directory_of(target: str) -> Path:
    return harness.BUILD / "bench-scratch" / "write" if target == "disk" else Path("/dev/shm/tailrace-bench-write")


def run_cell(
    cell: Cell,
    entries: Sequence[Entry],
    steps: int,
    *,
    seconds: float,
    least: int,
    most: int,
    mpi_io: str,
    deflate: int = 0,
    race: int = 0,
    before: int = 0,
) -> Iterable[Row]:
    """Yields the rows of a cell when they are measured. `deflate`: the level of compression. `race`: the repetitions after which
    only methods in claims continue. `before`: the number of earlier repetitions."""
    arguments: dict[str, str | int | Path] = {
        "case": cell.case,
        "steps": steps,
        "directory": directory_of(cell.target),
        "durable": int(cell.mode == "fsync"),
        "deflate": deflate,
        "seconds": f"{seconds:.1f}",
        "least": least,
        "most": most,
        "before": before,
    }
    if race:
        unclaimed = [entry.name for entry in entries if entry.is_ours and entry.variant != harness.claimed_variant("write")]
        arguments |= {"race": race, "weak": f"{WEAK:g}", "seldom": ",".join(unclaimed)}
    for row in methods.run_entries("bench_write", cell.ranks, entries, arguments, mpi_io):
        yield {**dataclasses.asdict(cell), **row}


def measure_equally(
    cells: Sequence[Cell],
    seconds: float,
    key_of: Callable[[Cell], str],
    tuned_for: Callable[[Cell, Callable[[str], None]], Tuned],
    run: Callable[[Cell, Tuned, float], Iterable[Row]],
) -> tuple[list[Row], dict[str, Tuned]]:
    """Tunes once for each key, then gives each cell an equal share of the time that is left. For benches of these cells."""
    deadline = time.monotonic() + seconds
    rows: list[Row] = []
    tuned: dict[str, Tuned] = {}
    with methods.progress_bar() as progress:
        bar = progress.add_task("", total=seconds)

        def advance(text: str) -> None:
            progress.update(bar, completed=seconds - max(0.0, deadline - time.monotonic()), description=text)

        for cell in cells:
            if key_of(cell) not in tuned:
                tuned[key_of(cell)] = tuned_for(cell, advance)
        for number, cell in enumerate(cells):
            share = max(0.0, deadline - time.monotonic()) / (len(cells) - number)
            for row in run(cell, tuned[key_of(cell)], share):
                rows.append(row)
                advance(f"{cell.key}, repetition {row['repetition'] or 'to warm up'}: {row['entry']}")
    return rows, tuned


def tune(case: str, target: str, peers: int, entries: Sequence[Entry], advance: Callable[[str], None]) -> Tuned:
    def run(chosen: Sequence[Entry], repetitions: int, mpi_io: str) -> Iterable[Row]:
        cell = Cell(case, target, 2, "cache")
        for row in run_cell(cell, chosen, TUNING_STEPS[case], seconds=0, least=repetitions, most=repetitions, mpi_io=mpi_io):
            advance(f"tuning, {case}, {target}, {mpi_io}: {row['entry']}")
            yield row

    # Raw calls are tuned in the cells themselves: beside the other methods another setting may be the fastest.
    return methods.tune([entry for entry in entries if not entry.is_raw], run, raw=0, peers=peers, judge=methods.all_peers)


def claims_of(rows: Sequence[Row], cells: Sequence[Cell]) -> list[Claim]:
    bounds = harness.bounds("write")
    claims = []
    for cell, wanted in itertools.product(cells, bounds["claims"]):
        if wanted["case"] != cell.case:
            continue
        ours = f"{wanted['ours']}:{harness.claimed_variant('write')}"
        where = f"{cell.target}/{cell.ranks}/{cell.mode}"
        claim = methods.claim_of(wanted, where, ours, methods.times_by_entry(rows, cell))
        if claim is not None:
            claims.append(claim)
    return claims


def print_cells(rows: Sequence[Row], cells: Sequence[Cell], entries: Sequence[Entry], mode: str, size: Size) -> None:
    """One table for each mode."""
    columns = [
        Column(
            f"{cell.case}\n{cell.target}\n{cell.ranks} ranks",
            RANK_STEP_BYTES[cell.case] * cell.ranks * size.steps[cell.case],
            methods.times_by_entry(rows, cell),
        )
        for cell in cells
        if cell.mode == mode
    ]
    methods.print_speeds(MODES[mode], columns, entries)


def print_checksum_cost(rows: Sequence[Row], cells: Sequence[Cell]) -> None:
    """The cost of the library's checksums of every part: medians with and without."""
    table = Table(title="Tailrace with checksums, time without / time with", title_justify="left")
    table.add_column("cell")
    presets = ("fpp", "hds", "shared", "single")
    for preset in presets:
        table.add_column(preset, justify="right")
    for cell in cells:
        times = methods.times_by_entry(rows, cell)
        pairs = [(times.get(f"tailrace_{preset}:plain"), times.get(f"tailrace_{preset}:checksum")) for preset in presets]
        ratios = [methods.typical_s(plain) / methods.typical_s(checked) for plain, checked in pairs if plain and checked]
        if len(ratios) == len(presets):
            table.add_row(cell.key, *(f"{ratio:.2f}" for ratio in ratios))
    if table.row_count:
        console.print(table)


def leave_out(entry: Entry, cell: Cell, size: Size) -> bool:
    """Checksums cost most in memory, and the same on all ranks. So they are measured only there, and on the fewest ranks."""
    return entry.is_ours and entry.variant == "checksum" and (cell.target != size.targets[-1] or cell.ranks != size.ranks[0])


def claimed(entries: Sequence[Entry], fewest: Cell, rows: Sequence[Row]) -> list[Entry]:
    """The methods in the claims of a case. Peers that were weak in the measured cell are left out: a claim is about the
    strongest."""
    times = methods.times_by_entry(rows, fewest)
    seconds = {entry.name: methods.typical_s(times[entry.name]) for entry in entries if entry.name in times}
    kept: set[str] = set()
    for claim in harness.bounds("write")["claims"]:
        if claim["case"] != fewest.case:
            continue
        peers = [entry for entry in entries if entry.method in claim.get("peers", []) and entry.name in seconds]
        fastest = min((seconds[entry.name] for entry in peers), default=0.0)
        kept |= {entry.name for entry in peers if seconds[entry.name] < WEAK * fastest}
        kept |= {entry.name for entry in entries if entry.method == claim["ours"]}
        if "limit" in claim:
            kept.add(methods.fastest(times, claim["limit"]) or "")
    return [entry for entry in entries if entry.name in kept]


def measure(
    size: Size, cells: Sequence[Cell], entries: Sequence[Entry], earlier: Sequence[Row]
) -> tuple[list[Row], dict[str, Tuned]]:
    deadline = time.monotonic() + size.seconds
    before = methods.repetitions(earlier)
    rows: list[Row] = []
    tuned: dict[str, Tuned] = {}
    with methods.progress_bar() as progress:
        bar = progress.add_task("", total=size.seconds)

        def advance(text: str) -> None:
            progress.update(bar, completed=size.seconds - max(0.0, deadline - time.monotonic()), description=text)

        for case, target in dict.fromkeys((cell.case, cell.target) for cell in cells):
            tuned[f"{case}/{target}"] = tune(case, target, size.tuning, entries, advance)
        for number, cell in enumerate(cells):
            choice = tuned[f"{cell.case}/{cell.target}"]
            fewest = dataclasses.replace(cell, ranks=size.ranks[0])
            first = next(other for other in cells if (other.case, other.target) == (cell.case, cell.target))
            raw = [entry for entry in entries if entry.is_raw]
            if cell != first:
                raw = [entry for entry in raw if entry.name == methods.fastest(methods.times_by_entry(rows, first), entry.method)]
            contenders = [entry for entry in entries if entry.is_ours] + raw + list(choice.entries)
            chosen = [entry for entry in contenders if not leave_out(entry, cell, size)]
            many = cell != fewest and fewest in cells
            if many:
                chosen = claimed(chosen, fewest, rows)
            share = cell.weight / sum(later.weight for later in cells[number:])
            seconds = max(0.0, (deadline - time.monotonic()) * share)
            least = LEAST_OF_MANY if many else LEAST
            pace: dict[str, Any] = {"seconds": seconds, "least": least, "most": MOST, "before": before}
            for row in run_cell(cell, chosen, size.steps[cell.case], **pace, mpi_io=choice.mpi_io, race=size.race):
                rows.append(row)
                advance(f"{cell.key}, repetition {row['repetition'] or 'to warm up'}: {row['entry']}")
    return rows, tuned


def print_settings(size: Size, entries: Sequence[Entry], tuned: Mapping[str, Tuned], rows: Sequence[Row]) -> None:
    repetitions: dict[str, int] = defaultdict(int)
    for row in rows:
        key = f"{row['case']}/{row['target']}/{row['ranks']}/{row['mode']}"
        repetitions[key] = max(repetitions[key], row["repetition"])
    settings = {f"case {case}": f"{text}, {size.steps[case]} steps, a file (set) each" for case, text in CASE_TEXT.items()}
    for target in size.targets:
        settings[f"target {target}"] = harness.filesystem_of(directory_of(target))
    settings["repetitions"] = ", ".join(f"{key} {count}" for key, count in repetitions.items())
    settings["raw writes"] = ", ".join(raw_settings(rows))
    settings["seldom"] = (
        f"after {size.race} repetitions stop: all but the fastest setting of raw writes, peers that took more than {WEAK:g} times "
        f"as long as the fastest with as many files, and our checksums; on more than {size.ranks[0]} ranks they do not run"
    )
    settings["fsynced"] = SYNCED
    settings["checksums"] = "Tailrace with (checksum) and without (plain); raw writes and peers compute none"
    methods.print_settings(settings, entries, tuned)


def raw_settings(rows: Sequence[Row]) -> list[str]:
    """The limits of the claims: the raw setting of each cell that continued."""
    found = []
    for cell in dict.fromkeys(Cell(row["case"], row["target"], row["ranks"], row["mode"]) for row in rows):
        times = methods.times_by_entry(rows, cell)
        raw = dict.fromkeys(name.split(":")[0] for name in times if name.startswith("raw_"))
        found.append(f"{cell.key} {' '.join(methods.fastest(times, method) or '' for method in raw)}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.write", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument(
        "--cells", default="*", metavar="PATTERN", help="measure only these cells, such as 'large/disk/4/*', with all the time"
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="add to the timings in the record of this commit and machine",
    )
    given = parser.parse_args()
    name, size = given.size, SIZES[given.size]
    cells = size.cells(given.cells)
    methods.refuse_no_cells(cells, given.cells, name, (cell.key for cell in size.cells()))
    run_bytes = max(RANK_STEP_BYTES[cell.case] * size.steps[cell.case] * cell.ranks for cell in cells)
    for target in {cell.target for cell in cells}:
        harness.need_space(directory_of(target), 2 * run_bytes)
    # Memory for the arrays, the single writer's copy, the memory kept for the page cache (twice), the files in it, and some room.
    harness.need_memory(6 * run_bytes)
    # Methods that only compress are in bench compress, those that append all steps to one file in bench commit.
    others = ("raw_packed_fpp", "raw_packed_shared", "raw_packed_single")
    entries = [entry for entry in methods.list_entries("bench_write") if entry.method not in others and entry.files != "grows"]
    record = "write" if given.cells == "*" or given.add else "write-cells"
    earlier = harness.rows_recorded(record, name) if given.add else []
    started = time.monotonic()
    cells_of_meshes = scattered.measure(directory_of("disk"), name) if given.cells == "*" else []
    measured, tuned = measure(size, cells, entries, earlier)
    rows = [*earlier, *methods.renumbered(measured, earlier)]
    cells = [cell for cell in size.cells() if any(cell.is_of(row) for row in rows)]
    print_settings(size, entries, tuned, rows)
    for mode in dict.fromkeys(cell.mode for cell in cells):
        print_cells(rows, cells, entries, mode, size)
    print_checksum_cost(rows, cells)
    claims = claims_of(rows, cells)
    if cells_of_meshes:
        scattered.print_table(cells_of_meshes)
        of_cells = scattered.claims_of(cells_of_meshes)
        harness.write_record("write-scattered", {"size": name}, cells_of_meshes, of_cells)
        claims += of_cells
    harness.print_claims(claims)
    settings = {"size": name, "cells": given.cells, "steps": dict(size.steps), **methods.record_of(entries, tuned)}
    path = harness.write_record(record, settings, rows, claims)
    return methods.finish(name, rows, claims, path, started, size.seconds, LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench write: {error}")
