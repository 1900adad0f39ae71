"""What it costs that readers see exactly the committed steps, and how fast the default layout appends steps to one file.

    make bench NAME=commit [SIZE=quick|full]

The cost: this build against the same one without the metadata of each step, by turns in one job. The default layout runs beside
HDF5, netCDF-4 and PnetCDF, which append the same steps to one file. docs/benchmarks.md says more; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, console, methods
from bench.harness.methods import Column, Entry, Row, Tuned
from bench.write import CASE_TEXT, MODES, RANK_STEP_BYTES, SYNCED, Cell, directory_of, measure_equally, run_cell

RANKS = 2
STEPS = {"large": 3, "small": 20}
TUNING_STEPS = {"large": 1, "small": 5}
COST_STEPS = 20
LEAST, MOST = 5, 15
TARGETS = ("disk", "shm")
CELLS = {
    "quick": [Cell("small", "disk", RANKS, "cache")],
    "full": [
        Cell(case, *where)
        for case in CASE_TEXT
        for where in (("disk", RANKS, "cache"), ("disk", RANKS, "fsync"), ("shm", RANKS, "cache"))
    ],
}
SECONDS = {"quick": {"cost": 15.0, "peers": 40.0}, "full": {"cost": 120.0, "peers": 430.0}}
LIBRARIES = {"before": "libtailrace_no_versions.so", "after": "libtailrace.so"}


def measure_cost(seconds: float) -> Iterator[dict[str, Any]]:
    for target in TARGETS:
        arguments: dict[str, Any] = {key: harness.BUILD / "lib" / library for key, library in LIBRARIES.items()}
        arguments |= {"directory": directory_of(target), "case": "append", "steps": COST_STEPS}
        arguments |= {"seconds": int(seconds / len(TARGETS)), "least": LEAST}
        words = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
        for row in harness.run_mpi(harness.program("bench_revision"), RANKS, words, limit_s=seconds + 120):
            yield {"target": target, **row}


def cost_times(rows: Sequence[Mapping[str, Any]], target: str, library: str) -> dict[int, float]:
    """The median step of each round. Round 0 warms up."""
    return {
        row["repetition"]: statistics.median(row["seconds"])
        for row in rows
        if (row["target"], row["library"]) == (target, library) and row["repetition"] > 0
    }


def cost_claims(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    wanted = harness.bounds("commit")["cost"]
    return [
        harness.ratio_claim(
            wanted, target, cost_times(rows, target, "before"), cost_times(rows, target, "after"), against="no metadata"
        )
        for target in TARGETS
    ]


def print_cost(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(title="A small step, milliseconds: medians of the rounds", title_justify="left")
    for heading in ("target", "without its metadata", "with it", "rounds"):
        table.add_column(heading, justify="left" if heading == "target" else "right")
    for target in TARGETS:
        both = [cost_times(rows, target, library) for library in LIBRARIES]
        table.add_row(target, *(f"{statistics.median(of.values()) * 1e3:.3f}" for of in both), str(len(both[0])))
    console.print(table)


def tune(case: str, target: str, entries: Sequence[Entry], advance: Callable[[str], None]) -> Tuned:
    def run(chosen: Sequence[Entry], repetitions: int, mpi_io: str) -> Iterable[Row]:
        cell = Cell(case, target, RANKS, "cache")
        for row in run_cell(cell, chosen, TUNING_STEPS[case], seconds=0, least=repetitions, most=repetitions, mpi_io=mpi_io):
            advance(f"tuning, {case}, {target}, {mpi_io}: {row['entry']}")
            yield row

    return methods.tune(entries, run, raw=0, peers=1, judge=methods.all_peers)


def measure(cells: Sequence[Cell], seconds: float, entries: Sequence[Entry]) -> tuple[list[Row], dict[str, Tuned]]:
    def tuned_for(cell: Cell, advance: Callable[[str], None]) -> Tuned:
        return tune(cell.case, cell.target, entries, advance)

    def run(cell: Cell, choice: Tuned, share: float) -> Iterable[Row]:
        chosen = [entry for entry in entries if entry.is_ours] + list(choice.entries)
        return run_cell(cell, chosen, STEPS[cell.case], seconds=share, least=LEAST, most=MOST, mpi_io=choice.mpi_io)

    return measure_equally(cells, seconds, lambda cell: f"{cell.case}/{cell.target}", tuned_for, run)


def peer_claims(rows: Sequence[Row], cells: Sequence[Cell]) -> list[Claim]:
    bounds = harness.bounds("commit")
    found = [
        methods.claim_of(wanted, cell.key, f"{wanted['ours']}:{bounds['claimed_variant']}", methods.times_by_entry(rows, cell))
        for cell, wanted in itertools.product(cells, bounds["claims"])
    ]
    return [claim for claim in found if claim is not None]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.commit", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=CELLS, default="quick")
    size = parser.parse_args().size
    cells, seconds = CELLS[size], SECONDS[size]
    run_bytes = max(RANK_STEP_BYTES[cell.case] * STEPS[cell.case] * cell.ranks for cell in cells)
    for target in TARGETS:
        harness.need_space(directory_of(target), 2 * run_bytes)
    harness.need_memory(4 * run_bytes)
    entries = [entry for entry in methods.list_entries("bench_write") if entry.files == "grows"]
    started = time.monotonic()
    try:
        cost_rows = list(measure_cost(seconds["cost"]))
        rows, tuned = measure(cells, seconds["peers"], entries)
    finally:
        for target in TARGETS:
            shutil.rmtree(directory_of(target), ignore_errors=True)
    settings = {f"case {case}": f"{text}, {STEPS[case]} steps, all in one file" for case, text in CASE_TEXT.items()}
    settings["cost"] = f"{RANKS} ranks, {CASE_TEXT['small']}, {COST_STEPS} steps in one file, checksums on, durability none"
    settings |= {f"target {target}": harness.filesystem_of(directory_of(target)) for target in TARGETS}
    settings["fsynced"] = SYNCED
    settings["checksums"] = "Tailrace with (checksum) and without (plain); the others compute none"
    methods.print_settings(settings, entries, tuned)
    print_cost(cost_rows)
    for mode in MODES:
        columns = [
            Column(
                f"{cell.case}\n{cell.target}\n{cell.ranks} ranks",
                RANK_STEP_BYTES[cell.case] * cell.ranks * STEPS[cell.case],
                methods.times_by_entry(rows, cell),
            )
            for cell in cells
            if cell.mode == mode
        ]
        if columns:
            methods.print_speeds(MODES[mode], columns, entries)
    claims = cost_claims(cost_rows) + peer_claims(rows, cells)
    harness.print_claims(claims, "Claims (their time / ours; cost: the time without the metadata / with it)")
    record = {"size": size, **settings, **methods.record_of(entries, tuned)}
    all_rows = [*({"what": "cost", **row} for row in cost_rows), *rows]
    path = harness.write_record("commit", record, all_rows, claims)
    return methods.finish(size, all_rows, claims, path, started, sum(seconds.values()), LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench commit: {error}")
