"""Cells that ranks own at random against the same array in contiguous blocks, under the same layout: a part of bench write."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, console

Row = dict[str, Any]

CELLS, STEPS = 60_000, 10
LAYOUTS = ("fpp", "node", "shared")
RANKS = (2, 8)
REPETITIONS = {"quick": 4, "full": 15}
WHAT = {
    "write_s": "time to write",
    "read_s": "time to read",
    "stored_bytes": "bytes stored",
    "write_peak_bytes": "memory of the ranks, writing",
    "read_peak_bytes": "memory of the ranks, reading",
}


def measure(directory: Path, size: str) -> list[Row]:
    program = harness.program("bench_scattered")
    rows: list[Row] = []
    for ranks in RANKS:
        for layout in LAYOUTS:
            words = [str(directory / "cells"), layout, str(CELLS), str(STEPS), str(REPETITIONS[size])]
            rows += [{"case": "cells", **row} for row in harness.run_mpi(program, ranks, words, limit_s=300)]
    return rows


def _by_repetition(rows: Sequence[Row], layout: str, ranks: int, how: str, what: str) -> dict[int, float]:
    return {
        row["repetition"]: row[what]
        for row in rows
        if (row["layout"], row["ranks"], row["how"]) == (layout, ranks, how) and row["repetition"] > 0
    }


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for wanted in harness.bounds("write")["cells"]:
        for ranks in RANKS:
            for layout in LAYOUTS:
                blocks, lists = (_by_repetition(rows, layout, ranks, how, wanted["what"]) for how in ("blocks", "lists"))
                claims.append(harness.ratio_claim(wanted, f"{layout}/{ranks}", blocks, lists))
    return claims


def print_table(rows: Sequence[Row]) -> None:
    title = f"{CELLS:,} cells of 8 bytes, {STEPS} steps: cells owned at random / contiguous blocks (medians)"
    table = Table(title=title, title_justify="left")
    table.add_column("layout, ranks")
    for text in WHAT.values():
        table.add_column(text, justify="right")
    for ranks in RANKS:
        for layout in LAYOUTS:
            table.add_row(f"{layout}, {ranks}", *(_cell(rows, layout, ranks, what) for what in WHAT))
    console.print(table)


def _cell(rows: Sequence[Row], layout: str, ranks: int, what: str) -> str:
    found: Mapping[str, float] = {
        how: statistics.median(_by_repetition(rows, layout, ranks, how, what).values()) for how in ("blocks", "lists")
    }
    unit, scale = ("ms", 1e-3) if what.endswith("_s") else ("MB", 1e6)
    return f"{found['lists'] / found['blocks']:.2f} ({found['blocks'] / scale:.3g} {unit})"
