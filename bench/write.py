"""Writing the same arrays through Tailrace, raw POSIX calls and the peers: page cache and fsynced, large and small arrays.

    make bench NAME=write [SIZE=quick|full]

docs/benchmarks.md says what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console

RANK_STEP_BYTES = {"large": 8 * 16 << 20, "small": 100 * 64 << 10}
CASE_TEXT = {"large": "8 arrays of 16 MiB a rank", "small": "100 arrays of 64 KiB a rank"}
MODES = {
    "cache": "page cache: the clock stops when all files are closed",
    "fsync": "fsynced: when all data and names are on the device",
}
TUNING_STEPS = {"large": 1, "small": 5}
LEAST, MOST = 3, 15  # measured repetitions of a cell; the warm-up is not one of them
MPI_IO = ("ompio", "romio321")  # Open MPI's two implementations of MPI-IO: a choice of the whole process
# Warm-up and LEAST repetitions cost about this much in relation to each other; the time that is left is shared out by it.
WEIGHT = {("large", "cache"): 2.0, ("large", "fsync"): 4.0, ("small", "cache"): 1.0, ("small", "fsync"): 2.5}


Times = dict[int, list[float]]  # repetition -> seconds of each call: begin, the steps, end


@dataclasses.dataclass(frozen=True)
class Cell:
    case: str
    target: str  # "disk" or "shm"
    ranks: int
    mode: str

    @property
    def key(self) -> str:
        return f"{self.case}/{self.target}/{self.ranks}/{self.mode}"

    @property
    def weight(self) -> float:
        mode = self.mode if self.target == "disk" else "cache"  # an fsync on tmpfs returns at once
        return WEIGHT[self.case, mode] * (self.ranks / 2 if self.case == "large" else 1.0)


@dataclasses.dataclass(frozen=True)
class Size:
    seconds: float
    targets: tuple[str, ...]
    ranks: tuple[int, ...]
    steps: Mapping[str, int]

    def cells(self) -> list[Cell]:
        return [
            Cell(case, target, ranks, mode)
            for case, target, ranks, mode in itertools.product(("large", "small"), self.targets, self.ranks, MODES)
        ]


SIZES = {
    "quick": Size(55, ("disk",), (2,), {"large": 2, "small": 5}),
    "full": Size(570, ("disk", "shm"), (2, 4), {"large": 2, "small": 20}),
}


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    files: str
    settings: str

    @property
    def method(self) -> str:
        return self.name.split(":")[0]

    @property
    def variant(self) -> str:
        return self.name.split(":")[1]

    @property
    def is_raw(self) -> bool:
        return self.method.startswith("raw_")

    @property
    def is_ours(self) -> bool:
        return self.method.startswith("tailrace_")

    @property
    def is_peer(self) -> bool:
        return not (self.is_raw or self.is_ours)


def directory_of(target: str) -> Path:
    return harness.BUILD / "bench-scratch" / "write" if target == "disk" else Path("/dev/shm/tailrace-bench-write")


def list_entries() -> list[Entry]:
    shown = subprocess.run(
        [str(harness.program("bench_write")), "--list", "1"],
        capture_output=True,
        text=True,
        check=True,
        env=harness.mpi_environment({}),
    )
    return [Entry(row["entry"], row["files"], row["settings"]) for row in map(json.loads, shown.stdout.splitlines())]


def run_cell(
    cell: Cell, entries: Sequence[Entry], steps: int, *, seconds: float, least: int, most: int, mpi_io: str
) -> Iterable[dict]:
    """Rows of a cell as they are measured."""
    arguments = {
        "case": cell.case,
        "steps": steps,
        "directory": directory_of(cell.target),
        "durable": int(cell.mode == "fsync"),
        "entries": ",".join(entry.name for entry in entries),
        "seconds": f"{seconds:.1f}",
        "least": least,
        "most": most,
    }
    words = [str(word) for key, value in arguments.items() for word in (f"--{key}", value)]
    extra = {"OMPI_MCA_io": mpi_io}
    for row in harness.run_mpi(harness.program("bench_write"), cell.ranks, words, limit_s=600, extra=extra):
        yield {"case": cell.case, "target": cell.target, "ranks": cell.ranks, "mode": cell.mode, "mpi_io": mpi_io, **row}


@dataclasses.dataclass(frozen=True)
class Tuned:
    """The settings with which raw writes and the peers were fastest in a short run, by case and target."""

    mpi_io: str
    entries: tuple[Entry, ...]


def tune(case: str, target: str, entries: Sequence[Entry], advance: Callable[[str], None]) -> Tuned:
    """Runs every setting of raw writes, and of every peer under both MPI-IOs, and keeps the best setting of each; of the peers
    under the MPI-IO that serves them best as a whole (geometric mean): it cannot be chosen within a process."""

    def best_of(chosen: Sequence[Entry], mpi_io: str, repetitions: int) -> dict[str, tuple[float, Entry]]:
        times: dict[str, Times] = defaultdict(dict)
        cell = Cell(case, target, 2, "cache")
        for row in run_cell(cell, chosen, TUNING_STEPS[case], seconds=0, least=repetitions, most=repetitions, mpi_io=mpi_io):
            advance(f"tuning, {case}, {target}, {mpi_io}: {row['entry']}")
            if row["repetition"] > 0:
                times[row["entry"]][row["repetition"]] = row["calls_s"]
        best: dict[str, tuple[float, Entry]] = {}
        for entry in chosen:
            seconds = typical_s(times[entry.name])
            if entry.method not in best or seconds < best[entry.method][0]:
                best[entry.method] = (seconds, entry)
        return best

    raw = best_of([entry for entry in entries if entry.is_raw], MPI_IO[0], 3)
    peers = {mpi_io: best_of([entry for entry in entries if entry.is_peer], mpi_io, 1) for mpi_io in MPI_IO}
    winner = min(MPI_IO, key=lambda mpi_io: sum(math.log(seconds) for seconds, _ in peers[mpi_io].values()))
    return Tuned(winner, tuple(entry for _, entry in (raw | peers[winner]).values()))


def times_by_entry(rows: Iterable[Mapping[str, Any]], cell: Cell) -> dict[str, Times]:
    """entry -> its times, without warm-ups."""
    times: dict[str, Times] = defaultdict(dict)
    for row in rows:
        if (row["case"], row["target"], row["ranks"], row["mode"]) == dataclasses.astuple(cell) and row["repetition"] > 0:
            times[row["entry"]][row["repetition"]] = row["calls_s"]
    return dict(times)


def typical_s(times: Times) -> float:
    """Seconds of a run: over its calls (begin, each step, end), the sum of each call's median over the repetitions. What disturbs
    a run hits one call or another of it; the median of whole runs would carry it as soon as half of the runs are hit somewhere."""
    return sum(Spread.of(call).median for call in zip(*times.values(), strict=True))


def undisturbed_s(times: Times) -> float:
    """The same with each call's least: what the run takes when nothing disturbs it."""
    return sum(min(call) for call in zip(*times.values(), strict=True))


def total_s(times: Times) -> dict[int, float]:
    return {repetition: sum(calls) for repetition, calls in times.items()}


def fastest(times: Mapping[str, Times], method: str) -> str | None:
    names = [name for name in times if name.split(":")[0] == method]
    return min(names, key=lambda name: typical_s(times[name])) if names else None


def claims_of(rows: Sequence[Mapping[str, Any]], cells: Sequence[Cell]) -> list[Claim]:
    bounds = harness.bounds("write")
    claims = []
    for cell, wanted in itertools.product(cells, bounds["claims"]):
        if wanted["case"] != cell.case:
            continue
        times = times_by_entry(rows, cell)
        ours = f"{wanted['ours']}:{bounds['claimed_variant']}"
        if ours not in times:
            raise harness.BenchError(f"claim {wanted['id']} of bench/bounds.toml is about {ours}, which was not measured")
        found = [fastest(times, method) for method in wanted.get("peers", [wanted.get("limit")])]
        others = [name for name in found if name is not None]
        if not others:
            continue
        # Against several peers the value is that of the strongest one: it is level with every one, or the claim does not hold.
        strongest = min(others, key=lambda name: typical_s(times[name]))
        pairs = harness.paired_ratios(total_s(times[strongest]), total_s(times[ours]))
        spread = Spread.of(pairs)
        detail = {
            "against": strongest,
            "median_of_pairs": spread.median,
            "undisturbed": undisturbed_s(times[strongest]) / undisturbed_s(times[ours]),
            "least": spread.least,
            "most": spread.most,
            "repetitions": len(pairs),
        }
        name = f"{wanted['id']}/{cell.target}/{cell.ranks}/{cell.mode}"
        value = typical_s(times[strongest]) / typical_s(times[ours])
        claims.append(Claim(name, wanted["text"], value, wanted["bound"], detail=detail))
    return claims


def print_cells(rows: Sequence[Mapping[str, Any]], cells: Sequence[Cell], entries: Sequence[Entry], mode: str, size: Size) -> None:
    """One table a mode: methods down, cells across; GB/s at the medians, and how far the repetitions spread."""
    shown = [cell for cell in cells if cell.mode == mode]
    console.print(f"\n[bold]{MODES[mode]}[/bold]; GB/s at the medians of the repetitions, ± half their range in percent")
    table = Table()
    table.add_column("method")
    table.add_column("files")
    for cell in shown:
        table.add_column(f"{cell.case}\n{cell.target}\n{cell.ranks} ranks", justify="right")
    times = {cell: times_by_entry(rows, cell) for cell in shown}
    lines: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        # One line a method that is tuned: its settings may differ between cells, and are printed above.
        label = entry.name if entry.is_ours else entry.method
        line = lines.setdefault((label, entry.files), [""] * len(shown))
        for at, cell in enumerate(shown):
            if entry.name not in times[cell]:
                continue
            spread = Spread.of(list(total_s(times[cell][entry.name]).values()))
            volume = RANK_STEP_BYTES[cell.case] * cell.ranks * size.steps[cell.case]
            speed = volume / typical_s(times[cell][entry.name]) / 1e9
            line[at] = f"{speed:.2f} ±{50 * (spread.most - spread.least) / spread.median:.0f}%"
    previous = ""
    for (label, files), line in lines.items():
        family = label.split("_")[0]
        if previous not in ("", family):
            table.add_section()
        previous = family
        table.add_row(label, files, *line)
    console.print(table)


def print_checksum_cost(rows: Sequence[Mapping[str, Any]], cells: Sequence[Cell]) -> None:
    """What the library's checksums of every part cost: medians with and without."""
    table = Table(title="Tailrace with checksums, time without / time with", title_justify="left")
    table.add_column("cell")
    presets = ("fpp", "hds", "shared", "single")
    for preset in presets:
        table.add_column(preset, justify="right")
    for cell in cells:
        times = times_by_entry(rows, cell)
        pairs = [(times.get(f"tailrace_{preset}:plain"), times.get(f"tailrace_{preset}:checksum")) for preset in presets]
        ratios = [typical_s(plain) / typical_s(checked) for plain, checked in pairs if plain and checked]
        if len(ratios) == len(presets):
            table.add_row(cell.key, *(f"{ratio:.2f}" for ratio in ratios))
    if table.row_count:
        console.print(table)


def leave_out(entry: Entry, cell: Cell) -> bool:
    """What would take time and tell nothing."""
    if entry.is_ours and entry.variant == "checksum":  # their cost is largest beside the page cache, and the same for all ranks
        return cell.mode == "fsync" or cell.ranks != 2
    return entry.is_peer and cell.target == "shm" and cell.mode == "fsync"  # fsync does nothing there: as in the other mode


def measure(size: Size, entries: Sequence[Entry]) -> tuple[list[dict[str, Any]], dict[str, Tuned]]:
    cells = size.cells()
    deadline = time.monotonic() + size.seconds
    rows: list[dict[str, Any]] = []
    tuned: dict[str, Tuned] = {}
    columns = (TextColumn("{task.percentage:3.0f}%"), BarColumn(30), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=size.seconds)

        def advance(text: str) -> None:
            progress.update(bar, completed=size.seconds - max(0.0, deadline - time.monotonic()), description=text)

        for case, target in itertools.product(("large", "small"), size.targets):
            tuned[f"{case}/{target}"] = tune(case, target, entries, advance)
        for number, cell in enumerate(cells):
            choice = tuned[f"{cell.case}/{cell.target}"]
            contenders = [entry for entry in entries if entry.is_ours] + list(choice.entries)
            chosen = [entry for entry in contenders if not leave_out(entry, cell)]
            share = cell.weight / sum(later.weight for later in cells[number:])
            seconds = max(0.0, (deadline - time.monotonic()) * share)
            for row in run_cell(cell, chosen, size.steps[cell.case], seconds=seconds, least=LEAST, most=MOST, mpi_io=choice.mpi_io):
                rows.append(row)
                advance(f"{cell.key}, repetition {row['repetition'] or 'to warm up'}: {row['entry']}")
    return rows, tuned


def print_settings(size: Size, entries: Sequence[Entry], tuned: Mapping[str, Tuned], rows: Sequence[Mapping[str, Any]]) -> None:
    repetitions: dict[str, int] = defaultdict(int)
    for row in rows:
        key = f"{row['case']}/{row['target']}/{row['ranks']}/{row['mode']}"
        repetitions[key] = max(repetitions[key], row["repetition"])
    settings = {f"case {case}": f"{text}, {size.steps[case]} steps, a file (set) each" for case, text in CASE_TEXT.items()}
    for target in size.targets:
        settings[f"target {target}"] = harness.filesystem_of(directory_of(target))
    settings["repetitions"] = ", ".join(f"{key} {count}" for key, count in repetitions.items())
    settings["checksums"] = "Tailrace with (checksum) and without (plain); raw writes and peers compute none"
    for entry in entries:
        if entry.is_ours:
            settings[entry.name] = entry.settings
    for key, choice in tuned.items():
        settings[f"tuned, {key}"] = f"MPI-IO {choice.mpi_io}; " + ", ".join(entry.name for entry in choice.entries)
    used = {entry.name: entry for choice in tuned.values() for entry in choice.entries}
    settings.update({name: entry.settings for name, entry in used.items()})
    harness.print_settings("Settings", settings)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.write", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", choices=SIZES, default="quick")
    name = parser.parse_args().size
    size = SIZES[name]
    run_bytes = max(RANK_STEP_BYTES[cell.case] * size.steps[cell.case] * cell.ranks for cell in size.cells())
    for target in size.targets:
        harness.need_space(directory_of(target), 2 * run_bytes)
    # The arrays, the lone writer's copy, what is held for the page cache, the files in it, and room.
    harness.need_memory(5 * run_bytes)
    entries = list_entries()
    started = time.monotonic()
    rows, tuned = measure(size, entries)
    cells = size.cells()
    print_settings(size, entries, tuned, rows)
    for mode in MODES:
        print_cells(rows, cells, entries, mode, size)
    print_checksum_cost(rows, cells)
    claims = claims_of(rows, cells)
    harness.print_claims(claims)
    settings = {
        "size": name,
        "steps": dict(size.steps),
        "tuned": {
            key: {"mpi_io": choice.mpi_io, "entries": [entry.name for entry in choice.entries]} for key, choice in tuned.items()
        },
        "entries": [dataclasses.asdict(entry) for entry in entries],
    }
    path = harness.write_record("write", settings, rows, claims)
    took = f"{time.monotonic() - started:.0f} s"
    console.print(f"{len(rows)} timings, every byte of each read back and checked, in {took}; {path.relative_to(harness.ROOT)}")
    if time.monotonic() - started > size.seconds + 30:
        console.print(
            f"Planned were {size.seconds:.0f} s: {LEAST} repetitions of each cell took longer on this machine, as it is now."
        )
    if name == "quick":
        console.print("A quick run shows the claims and does not judge them.")
        return 0
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench write: {error}")
