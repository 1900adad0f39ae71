"""Writes compressed arrays through Tailrace, through the peers' filters, and by compressing in memory and writing plainly.

    make bench NAME=compress [SIZE=quick|full]

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.table import Table

from bench import harness
from bench.harness import Claim, console, methods
from bench.harness.methods import Column, Entry, Row, Tuned
from bench.write import MODES, SYNCED, Cell, directory_of, measure_equally, run_cell

LEVEL = 1
RANK_STEP_BYTES = 4 * 16 << 20
CASE_TEXT = {
    "kernel": "4 arrays of 16 MiB a rank, 64-bit floats by the OLAM kernel's formula (24 bits of noise)",
    "smooth": "4 arrays of 16 MiB a rank, 32-bit floats whose neighbours are near (7 bits of noise)",
}
# HDF5 filters data of several ranks only in collective calls.
METHODS = ("raw_packed_fpp", "raw_packed_shared", "raw_packed_single", "hdf5_fpp", "hdf5_collective", "netcdf4", "netcdf4_fpp")
OURS = ("tailrace_fpp", "tailrace_shared", "tailrace_single")
STEPS, TUNING_STEPS, LEAST, MOST = 2, 1, 3, 15


CELLS = {
    "quick": [Cell("smooth", "disk", 2, "cache")],
    "full": [
        Cell(case, *where)
        for case in CASE_TEXT
        for where in (("disk", 2, "cache"), ("disk", 2, "fsync"), ("shm", 2, "cache"), ("shm", 4, "cache"))
    ],
}
SECONDS = {"quick": 55.0, "full": 570.0}


def is_measured(entry: Entry) -> bool:
    if entry.is_ours:  # bench write has the cost of checksums
        return entry.method in OURS and entry.variant == harness.claimed_variant("compress")
    return entry.method in METHODS and not entry.variant.startswith("independent")


def tune(case: str, entries: Sequence[Entry], advance: Callable[[str], None]) -> Tuned:
    def run(chosen: Sequence[Entry], repetitions: int, mpi_io: str) -> Iterable[Row]:
        cell = Cell(case, "shm", 2, "cache")
        for row in run_cell(
            cell, chosen, TUNING_STEPS, seconds=0, least=repetitions, most=repetitions, mpi_io=mpi_io, deflate=LEVEL
        ):
            advance(f"tuning, {case}, {mpi_io}: {row['entry']}")
            yield row

    return methods.tune(entries, run, raw=1, peers=1, judge=methods.all_peers)


def measure(cells: Sequence[Cell], seconds: float, entries: Sequence[Entry]) -> tuple[list[Row], dict[str, Tuned]]:
    def run(cell: Cell, choice: Tuned, share: float) -> Iterable[Row]:
        chosen = [entry for entry in entries if entry.is_ours] + list(choice.entries)
        return run_cell(cell, chosen, STEPS, seconds=share, least=LEAST, most=MOST, mpi_io=choice.mpi_io, deflate=LEVEL)

    return measure_equally(cells, seconds, lambda cell: cell.case, lambda cell, advance: tune(cell.case, entries, advance), run)


def claims_of(rows: Sequence[Row], cells: Sequence[Cell]) -> list[Claim]:
    variant = harness.claimed_variant("compress")
    found = [
        methods.claim_of(wanted, cell.key, f"{wanted['ours']}:{variant}", methods.times_by_entry(rows, cell))
        for cell, wanted in itertools.product(cells, harness.bounds("compress")["claims"])
    ]
    return [claim for claim in found if claim is not None]


def print_sizes(rows: Sequence[Row], cells: Sequence[Cell]) -> None:
    """Bytes of the files over bytes of the arrays. Codec and level are the same, the encoders are not."""
    table = Table(title="Bytes of the files / bytes of the arrays", title_justify="left")
    table.add_column("method")
    cases = list(dict.fromkeys(cell.case for cell in cells))
    for case in cases:
        table.add_column(case, justify="right")
    shares: Mapping[str, Mapping[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        shares[row["entry"]][row["case"]].append(row["stored"] / row["bytes"])
    for entry, by_case in shares.items():
        table.add_row(entry, *(f"{statistics.median(by_case[case]):.3f}" if by_case[case] else "" for case in cases))
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.compress", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=CELLS, default="quick")
    name = parser.parse_args().size
    cells = CELLS[name]
    run_bytes = max(cell.ranks for cell in cells) * RANK_STEP_BYTES * STEPS
    for target in dict.fromkeys(cell.target for cell in cells):
        harness.need_space(directory_of(target), 2 * run_bytes)
    harness.need_memory(4 * run_bytes)
    entries = [entry for entry in methods.list_entries("bench_write") if is_measured(entry)]
    started = time.monotonic()
    rows, tuned = measure(cells, SECONDS[name], entries)
    settings = {f"case {case}": CASE_TEXT[case] for case in dict.fromkeys(cell.case for cell in cells)}
    settings["codec"] = f"shuffle, deflate {LEVEL}, chunks of 1 MiB for all; Tailrace and raw_packed by libdeflate, peers by zlib"
    settings["fsynced"] = SYNCED
    settings["checksums"] = "Tailrace with (checksum) and without (plain); the others compute none"
    methods.print_settings(settings, entries, tuned)
    for mode in MODES:
        columns = [
            Column(
                f"{cell.case}\n{cell.target}\n{cell.ranks} ranks",
                RANK_STEP_BYTES * cell.ranks * STEPS,
                methods.times_by_entry(rows, cell),
            )
            for cell in cells
            if cell.mode == mode
        ]
        if columns:
            methods.print_speeds(f"{MODES[mode]}; bytes of the arrays", columns, entries)
    print_sizes(rows, cells)
    claims = claims_of(rows, cells)
    harness.print_claims(claims)
    record = {"size": name, **settings, **methods.record_of(entries, tuned)}
    path = harness.write_record("compress", record, rows, claims)
    return methods.finish(name, rows, claims, path, started, SECONDS[name], LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench compress: {error}")
