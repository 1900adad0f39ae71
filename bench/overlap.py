"""Runs that compute as long as they write: synchronous against steps in flight, and the time to return against a memcpy.

    make bench NAME=overlap [SIZE=quick|full]

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console, methods
from bench.harness.methods import Row
from bench.harness.slow_disk import slow_disk, why_not

RANKS = 1  # with a thread that writes: as many as the machine has cores
STEPS, IN_FLIGHT = (
    10,
    2,
)  # n steps are at most 2 n / (n + 1) times as fast: nothing overlaps the first computation and the last write
LEAST, MOST = 3, 15  # repetitions of the first cell, which the claims are about
LEAST_BESIDE = 1  # of the other cells
ARRAYS = 2
DEDICATED = "dedicated"
NEEDED = (ARRAYS * 16 << 20) * (STEPS + 4) + (1 << 30)
SLOW = 128 << 20  # bytes a second
MODES = {"fsync": "fsync: durability = step", "cache": "to the page cache"}


@dataclasses.dataclass(frozen=True)
class Cell:
    target: str
    mode: str

    @property
    def key(self) -> str:
        return f"{self.target}/{self.mode}"


@dataclasses.dataclass(frozen=True)
class Size:
    seconds: float
    cells: tuple[Cell, ...]
    presets: tuple[str, ...]


SIZES = {
    "quick": Size(60, (Cell("slow", "fsync"),), ("fpp", "single")),
    "full": Size(
        420,
        (Cell("slow", "fsync"), Cell("disk", "fsync"), Cell("disk", "cache"), Cell("shm", "cache")),
        ("fpp", "single", "shared", "node"),
    ),
}
FOLDERS = {"disk": harness.BUILD / "bench-scratch" / "overlap", "shm": Path("/dev/shm/tailrace-bench-overlap")}


@contextlib.contextmanager
def place_of(target: str) -> Iterator[tuple[Path, Path | None]]:
    """The folder to write to, and the control group of the programs that write."""
    if target == "slow":
        with slow_disk(SLOW, NEEDED) as disk:
            yield disk.directory, disk.control_group
        return
    harness.need_space(FOLDERS[target], NEEDED)
    try:
        yield FOLDERS[target], None
    finally:
        shutil.rmtree(FOLDERS[target], ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class Job:
    """Ranks that compute and a thread that writes for them; or ranks that compute and as many that only write."""

    presets: tuple[str, ...]
    ranks: int
    dedicated: int
    memcpy: str
    weight: float


def jobs_of(size: Size) -> tuple[Job, ...]:
    return Job(size.presets, RANKS, 0, "memcpy", len(size.presets)), Job(
        (DEDICATED,), 2 * RANKS, RANKS, f"memcpy beside {DEDICATED}", 1
    )


def measure(size: Size) -> list[Row]:
    rows: list[Row] = []
    jobs = jobs_of(size)
    seconds = size.seconds / len(size.cells) / sum(job.weight for job in jobs)
    with methods.progress_bar() as progress:
        bar = progress.add_task("", total=size.seconds)
        started = time.monotonic()
        for cell, job in itertools.product(size.cells, jobs):
            if cell != size.cells[0] and time.monotonic() - started > size.seconds:
                continue  # for information only, and there is no time left
            arguments = {"mode": cell.mode, "presets": ",".join(job.presets), "arrays": ARRAYS, "steps": STEPS}
            arguments |= {"in-flight": IN_FLIGHT, "seconds": f"{seconds * job.weight:.0f}", "most": MOST}
            arguments |= {"least": LEAST if cell == size.cells[0] else LEAST_BESIDE}
            arguments |= {"dedicated": job.dedicated}
            with place_of(cell.target) as (directory, group):
                arguments["directory"] = directory / "run"
                words = [str(word) for key, value in arguments.items() for word in (f"--{key}", value)]
                for row in harness.run_mpi(harness.program("bench_overlap"), job.ranks, words, limit_s=600, control_group=group):
                    rows.append({**dataclasses.asdict(cell), **row})
                    text = f"{cell.key}, repetition {row['repetition'] or 'to warm up'}: {row['preset']} {row['how']}"
                    progress.update(bar, completed=time.monotonic() - started, description=text)
    return rows


def measured(rows: Sequence[Row], cell: Cell, preset: str, how: str) -> dict[int, Row]:
    return {
        row["repetition"]: row
        for row in rows
        if (row["target"], row["mode"], row["preset"], row["how"]) == (cell.target, cell.mode, preset, how)
        and row["repetition"] > 0
    }


def return_s(row: Row) -> float:
    """The median of the run's steps without the first, which makes the plan and allocates the window."""
    return statistics.median(row["returns_s"][1:])


def claims_of(rows: Sequence[Row], size: Size) -> list[Claim]:
    """Claims of the first cell: the slow disk, or the fast one where there can be no slow one. The other cells are for
    information."""
    wanted = {claim["id"]: claim for claim in harness.bounds("overlap")["claims"]}
    claims = []
    cell = size.cells[0]
    for job, preset in [(of, preset) for of in jobs_of(size) for preset in of.presets]:
        sync, overlap = (measured(rows, cell, preset, how) for how in ("sync", "overlap"))
        copies = measured(rows, cell, job.memcpy, "memcpy")
        times = {r: return_s(row) for r, row in overlap.items()}
        memcpy = {r: return_s(row) for r, row in copies.items()}
        claims.append(harness.ratio_claim(wanted["return-memcpy"], f"{preset}/{cell.key}", times, memcpy))
        totals = [{r: row["total_s"] for r, row in of.items()} for of in (sync, overlap)]
        claims.append(harness.ratio_claim(wanted["run-time"], f"{preset}/{cell.key}", *totals))
    return claims


def print_times(rows: Sequence[Row], size: Size) -> None:
    for cell in size.cells:
        if any(not measured(rows, cell, job.memcpy, "memcpy") for job in jobs_of(size)):
            console.print(f"{cell.key}: not measured, because the cells before took longer than planned")
            continue
        table = Table(title=f"{cell.target}, {MODES[cell.mode]}: seconds, median (least..most)", title_justify="left")
        for heading in ("preset", "how", "to return, a step", "of memcpy", "to durable, a step", "the run", "of synchronous"):
            table.add_column(heading, justify="left" if heading in ("preset", "how") else "right")
        for job in jobs_of(size):
            copy = Spread.of([return_s(row) for row in measured(rows, cell, job.memcpy, "memcpy").values()])
            table.add_row("", job.memcpy, shown(copy), "1.00", "", "", "")
            for preset in job.presets:
                sync = Spread.of([row["total_s"] for row in measured(rows, cell, preset, "sync").values()])
                for how in ("sync", "overlap"):
                    runs = measured(rows, cell, preset, how).values()
                    returns, total = Spread.of([return_s(row) for row in runs]), Spread.of([row["total_s"] for row in runs])
                    durable = [row["report"]["to_durable_s"]["mean"] for row in runs if "to_durable_s" in row["report"]]
                    table.add_row(
                        preset,
                        how,
                        shown(returns),
                        f"{returns.median / copy.median:.2f}",
                        shown(Spread.of(durable)) if durable else "as to return" if how == "sync" else "not known",
                        shown(total),
                        f"{sync.median / total.median:.2f} times faster" if how == "overlap" else "",
                    )
        console.print(table)


def shown(spread: Spread) -> str:
    return f"{spread.median:.3f} ({spread.least:.3f}..{spread.most:.3f})"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.overlap", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    name = parser.parse_args().size
    size = SIZES[name]
    harness.need_memory(2 * NEEDED)
    if reason := why_not():
        cells = [dataclasses.replace(cell, target="disk") if cell.target == "slow" else cell for cell in size.cells]
        size = dataclasses.replace(size, cells=tuple(dict.fromkeys(cells)))
    settings = {
        "ranks": f"{RANKS}, and its thread that writes; {DEDICATED}: {RANKS}, and {RANKS} that only writes",
        "arrays": f"{ARRAYS} of 16 MiB a rank, {STEPS} steps, a file each; checksums on",
        "computing": "arithmetic in registers before each step, as long as a synchronous step takes once memory is warm",
        "in flight": f"{IN_FLIGHT} steps; overlap_memory = 1 GiB",
        "target slow": f"none: {reason}" if reason else f"ext4 in memory, limited to {SLOW >> 20} MiB/s by a control group",
        "the run": "from before opening to after closing, including the steps in flight at the end",
        **{f"target {target}": harness.filesystem_of(folder.parent) for target, folder in FOLDERS.items()},
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    rows = measure(size)
    print_times(rows, size)
    claims = claims_of(rows, size)
    harness.print_claims(claims, "Claims (time to return / memcpy, at most; synchronous run / overlapped run, at least)")
    path = harness.write_record("overlap", {"size": name, **settings}, rows, claims)
    return methods.finish(name, rows, claims, path, started, size.seconds, LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench overlap: {error}")
