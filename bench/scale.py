"""The cost of the plan, the journal and the index from 100 to 1,000,000 ranks: planned, not run.

    make bench NAME=scale [SIZE=quick|full]

Each number of ranks and each repetition has a process of its own. The order of the numbers of ranks rotates. docs/benchmarks.md
describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console

RANKS = (100, 1_000, 10_000, 100_000, 1_000_000)
FIGURES = ("plan", "manifest", "index", "directories")
FOLDER = harness.BUILD / "bench-scratch" / "scale"
NEEDED_BYTES = 1 << 30  # memory: rank 0's plan under single, and the boxes of all blocks, at a million ranks
LIMIT_S = 120
Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Size:
    repetitions: int
    drawn: int  # ranks, and first ranks of nodes, beside the first, the middle and the last rank


SIZES = {"quick": Size(3, 3), "full": Size(11, 8)}


def run(figure: str, ranks: int, seed: int, size: Size) -> Iterator[Row]:
    words = {"plan": [str(seed), str(size.drawn)], "manifest": [str(FOLDER)], "index": [str(FOLDER)], "directories": []}[figure]
    command = [str(harness.program("bench_scale")), figure, str(ranks), *words]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=harness.mpi_environment({}))
    except subprocess.TimeoutExpired as error:
        raise harness.BenchError(f"{' '.join(command)} took more than {LIMIT_S} s") from error
    if shown.returncode != 0:
        raise harness.BenchError(f"{' '.join(command)} ended with status {shown.returncode}:\n{shown.stderr[-4000:]}")
    yield from map(json.loads, shown.stdout.splitlines())


def measure(size: Size, seed: int) -> list[Row]:
    """Rows of all repetitions without the warm-up, number 0."""
    rows: list[Row] = []
    for repetition in range(size.repetitions + 1):
        turn = repetition % len(RANKS)
        for ranks in (RANKS[turn:] + RANKS[:turn])[:: 1 if repetition % 2 else -1]:
            for figure in FIGURES:
                rows += [{"repetition": repetition, **row} for row in run(figure, ranks, seed, size)]
    return [row for row in rows if row["repetition"] > 0]


@dataclasses.dataclass(frozen=True)
class Line:
    """A figure shown over the numbers of ranks. For a rank's plan it is that of the busiest drawn rank in that role."""

    figure: str
    layout: str
    role: str = ""

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.layout, self.role)))


def lines_of(rows: Sequence[Row]) -> list[Line]:
    return list(dict.fromkeys(Line(row["figure"], row["layout"], row.get("role", "")) for row in rows))


class Figures:
    """The measured figures by line and number of ranks."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows: dict[tuple[Line, int], list[Row]] = defaultdict(list)
        for row in rows:
            self.rows[Line(row["figure"], row["layout"], row.get("role", "")), row["ranks"]].append(row)

    def spread(self, line: Line, ranks: int, of: Callable[[Row], float]) -> Spread | None:
        """The spread over the repetitions of the rank with the largest median; None where it was not measured."""
        values: dict[int, list[float]] = defaultdict(list)
        for row in self.rows[line, ranks]:
            values[row.get("rank", 0)].append(of(row))
        spreads = [Spread.of(of_rank) for of_rank in values.values()]
        return max(spreads, key=lambda spread: spread.median) if spreads else None


def shown_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_table(title: str, figures: Figures, lines: Sequence[Line], of: Callable[[Row], float], *, spreads: bool = False) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("layout")
    for ranks in RANKS:
        table.add_column(f"{ranks:,} ranks", justify="right")
    for line in lines:
        cells = []
        for ranks in RANKS:
            spread = figures.spread(line, ranks, of)
            if spread is None:
                cells.append("")
                continue
            percent = f" ±{50 * (spread.most - spread.least) / spread.median:.0f}%" if spreads and spread.median else ""
            cells.append(shown_number(spread.median) + percent)
        table.add_row(line.name, *cells)
    console.print(table)


def microseconds(row: Row) -> float:
    return 1e6 * row["seconds"]


def memory_kib(row: Row) -> float:
    return row["memory_bytes"] / 1024


def messages(row: Row) -> int:
    return row["sends"] + row["receives"]


def print_figures(rows: Sequence[Row]) -> None:
    figures = Figures(rows)
    of = {figure: [line for line in lines_of(rows) if line.figure == figure] for figure in {row["figure"] for row in rows}}
    print_table("A rank's own plan: microseconds, busiest rank", figures, of["plan"], microseconds, spreads=True)
    print_table("A rank's own plan: KiB of memory, busiest rank", figures, of["plan"], memory_kib)
    print_table("A rank's own plan: messages", figures, of["plan"], messages)
    print_table("A step's line in the journal: microseconds", figures, of["step line"], microseconds, spreads=True)
    print_table("A step's line in the journal: bytes", figures, of["step line"], lambda row: row["bytes"])
    print_table("A plan's line in the journal: bytes (at most 256 parts)", figures, of["plan line"], lambda row: row["bytes"])
    print_table("A plan's line in the journal: microseconds", figures, of["plan line"], microseconds, spreads=True)
    print_table("The index: milliseconds", figures, of["index"], lambda row: 1e3 * row["seconds"], spreads=True)
    print_table("The index: KiB of the file", figures, of["index"], lambda row: row["bytes"] / 1024)
    print_table("The index: KiB of memory", figures, of["index"], memory_kib)
    print_table("The index: boxes in it", figures, of["index"], lambda row: row["sources"])
    print_table("Most entries in one directory", figures, of["directories"], lambda row: row["entries"])


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    bounds = harness.bounds("scale")
    wanted = {claim["id"]: claim for claim in bounds["claims"]}
    base, most = bounds["base_ranks"], bounds["most_ranks"]
    figures = Figures(rows)
    claims: list[Claim] = []

    def flat(name: str, figure: str, of: Callable[[Row], float]) -> None:
        for line in lines_of(rows):
            if line.figure != figure:
                continue
            few, many = figures.spread(line, base, of), figures.spread(line, most, of)
            if few is None or many is None:  # the line is measured for at most 256 parts
                continue
            detail = {"at_base": few.median, "at_most": many.median, "least": many.least / few.most, "most": many.most / few.least}
            value, text = many.median / few.median, wanted[name]["text"]
            claims.append(Claim(f"{name}/{line.name}", text, value, wanted[name]["bound"], "times", detail, at_most=True))

    def bounded(name: str, line: Line, of: Callable[[Row], float]) -> None:
        value = max(spread.most for ranks in RANKS if (spread := figures.spread(line, ranks, of)))
        claims.append(Claim(f"{name}/{line.name}", wanted[name]["text"], value, wanted[name]["bound"], "count", at_most=True))

    flat("rank-time", "plan", lambda row: row["seconds"] / max(1, messages(row)))
    flat("rank-memory", "plan", lambda row: row["memory_bytes"] / max(1, messages(row)))
    flat("step-time", "step line", lambda row: row["seconds"])
    flat("step-memory", "step line", lambda row: row["memory_bytes"])
    flat("step-bytes", "step line", lambda row: row["bytes"])
    (index,) = (line for line in lines_of(rows) if line.figure == "index")
    bounded("part-boxes", index, lambda row: row["most_boxes"])
    flat("index-time", "index", lambda row: row["seconds"] / row["sources"])
    flat("index-memory", "index", lambda row: row["memory_bytes"] / row["sources"])
    flat("index-bytes", "index", lambda row: row["bytes"] / row["sources"])
    flat("plan-line-bytes", "plan line", lambda row: row["bytes"] / row["boxes"])
    bounded("directory-entries", Line("directories", "hds"), lambda row: row["entries"])
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument("--seed", type=int, help="Seed of the drawn ranks: the same seed draws the same ranks.")
    given = parser.parse_args()
    size = SIZES[given.size]
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    settings = {
        "ranks": ", ".join(f"{ranks:,}" for ranks in RANKS) + "; 100 on a node",
        "arrays": "u and v (64-bit floats) and T (32-bit), of three dimensions, a block of 32 x 32 x 32 on every rank",
        "ranks drawn": f"the first, the middle, the last, {size.drawn} others and the first of {size.drawn} nodes; --seed={seed}",
        "repetitions": f"{size.repetitions}, and one to warm up",
        "file system": harness.filesystem_of(FOLDER),
    }
    harness.need_memory(NEEDED_BYTES)
    harness.need_space(FOLDER, NEEDED_BYTES)
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    try:
        rows = measure(size, seed)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    print_figures(rows)
    claims = claims_of(rows)
    harness.print_claims(claims, "Claims (at 1,000,000 ranks / at 1,000; or a count)")
    path = harness.write_record("scale", {"size": given.size, "seed": seed, **dataclasses.asdict(size)}, rows, claims)
    console.print(f"{len(rows)} figures in {time.monotonic() - started:.0f} s; {Path(path).relative_to(harness.ROOT)}")
    if given.size == "quick":
        console.print("A quick run shows the claims; only SIZE=full decides whether they hold.")
        return 0
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench scale: {error}")
