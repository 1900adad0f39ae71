"""Methods with settings that one MPI program measures side by side: their list, tuning, times, claims and tables."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console

MPI_IO = ("ompio", "romio321")  # Open MPI's two implementations of MPI-IO; a process chooses one for all calls
Times = dict[int, list[float]]  # repetition -> seconds of each timed call
Row = dict[str, Any]


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
        return self.method.split("_")[0] == "raw"

    @property
    def is_ours(self) -> bool:
        return self.method.startswith("tailrace_")

    @property
    def is_peer(self) -> bool:
        return not (self.is_raw or self.is_ours)


def list_entries(program: str) -> list[Entry]:
    command = [str(harness.program(program)), "--list", "1"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=harness.mpi_environment({}))
    return [Entry(row["entry"], row["files"], row["settings"]) for row in map(json.loads, shown.stdout.splitlines())]


def run_entries(program: str, ranks: int, entries: Sequence[Entry], arguments: Mapping[str, Any], mpi_io: str) -> Iterable[Row]:
    """Yields each row when it is measured."""
    pairs = {"entries": ",".join(entry.name for entry in entries), **arguments}
    words = [str(word) for key, value in pairs.items() for word in (f"--{key}", value)]
    for row in harness.run_mpi(harness.program(program), ranks, words, limit_s=600, extra={"OMPI_MCA_io": mpi_io}):
        yield {"mpi_io": mpi_io, **row}


@dataclasses.dataclass(frozen=True)
class Tuned:
    """The fastest settings of raw calls and of the peers in a short run, and the timings of that run."""

    mpi_io: str
    entries: tuple[Entry, ...]
    rows: tuple[Row, ...]


Run = Callable[[Sequence[Entry], int, str], Iterable[Row]]  # entries (it may leave some out), repetitions, MPI-IO
Best = dict[str, tuple[float, Entry]]  # method -> seconds of its fastest setting


def all_peers(best: Best) -> float:
    """A measure of how fast all peers are under an MPI-IO; less is faster. It is the geometric mean (as a sum of logarithms) over
    peers whose ranks share a file, because MPI-IO makes no difference to most others."""
    return sum(math.log(seconds) for seconds, entry in best.values() if entry.files != "rank")


def tune(entries: Sequence[Entry], run: Run, *, raw: int, peers: int, judge: Callable[[Best], float]) -> Tuned:
    """Runs every setting of raw calls, and of every peer under both MPI-IOs, and keeps the fastest setting of each.

    A process has one MPI-IO for all peers: the one for which `judge` returns the least. `raw` and `peers` are the numbers of
    repetitions after the warm-up; with 0 the warm-up counts."""

    rows: list[Row] = []

    def best_of(chosen: Sequence[Entry], repetitions: int, mpi_io: str) -> Best:
        times: dict[str, Times] = defaultdict(dict)
        for row in run(chosen, repetitions, mpi_io):
            rows.append(row)
            if row["repetition"] > 0 or repetitions == 0:
                times[row["entry"]][row["repetition"]] = row["calls_s"]
        best: Best = {}
        for entry in (entry for entry in chosen if entry.name in times):
            seconds = typical_s(times[entry.name])
            if entry.method not in best or seconds < best[entry.method][0]:
                best[entry.method] = (seconds, entry)
        return best

    limits_of = [entry for entry in entries if entry.is_raw]
    limits = best_of(limits_of, raw, MPI_IO[0]) if limits_of else {}
    found = {mpi_io: best_of([entry for entry in entries if entry.is_peer], peers, mpi_io) for mpi_io in MPI_IO}
    winner = min(MPI_IO, key=lambda mpi_io: judge(found[mpi_io]))
    return Tuned(winner, tuple(entry for _, entry in (limits | found[winner]).values()), tuple(rows))


def times_by_entry(rows: Iterable[Mapping[str, Any]], cell: Any) -> dict[str, Times]:
    """entry -> its times in a cell (a dataclass whose fields are in the rows), without warm-ups.

    With fsync each run is one time. There the longest wait for the device falls on any of the calls, so medians call by call would
    contain it for some methods and not for others."""
    wanted = dataclasses.asdict(cell)
    waits = wanted.get("mode") == "fsync"
    times: dict[str, Times] = defaultdict(dict)
    for row in rows:
        if row["repetition"] > 0 and all(row[key] == value for key, value in wanted.items()):
            times[row["entry"]][row["repetition"]] = [sum(row["calls_s"])] if waits else row["calls_s"]
    return dict(times)


def typical_s(times: Times) -> float:
    """Seconds of a run: the sum over its calls of each call's median over the repetitions.

    A disturbance affects one call of a run. The median of whole runs would contain it as soon as half of the runs have one."""
    return sum(Spread.of(call).median for call in zip(*times.values(), strict=True))


def undisturbed_s(times: Times) -> float:
    """The same with each call's least: the seconds of an undisturbed run."""
    return sum(min(call) for call in zip(*times.values(), strict=True))


def total_s(times: Times) -> dict[int, float]:
    return {repetition: sum(calls) for repetition, calls in times.items()}


def repetitions(rows: Iterable[Row]) -> int:
    """The number of repetitions without the warm-up."""
    return max((row["repetition"] for row in rows), default=0)


def renumbered(rows: Iterable[Row], earlier: Iterable[Row]) -> list[Row]:
    """The rows with repetition numbers after those of the earlier rows. Warm-ups stay repetition 0."""
    before = repetitions(earlier)
    return [row | {"repetition": row["repetition"] and before + row["repetition"]} for row in rows]


def fastest(times: Mapping[str, Times], method: str) -> str | None:
    """The fastest setting of a method, among those that ran most often. The others were left out because they were slower."""
    names = [name for name in times if name.split(":")[0] == method]
    most = max((len(times[name]) for name in names), default=0)
    names = [name for name in names if len(times[name]) == most]
    return min(names, key=lambda name: typical_s(times[name])) if names else None


def claim_of(wanted: Mapping[str, Any], where: str, ours: str, times: Mapping[str, Times]) -> Claim | None:
    """A claim of bench/bounds.toml in one cell; None where nothing was measured to compare with.

    Against several peers the value is that against the fastest one, so the claim holds only if it holds against every peer. A claim
    about peers may also name a `limit`. Then the bound is at most `of_limit` of the factor by which the limit is ahead of the
    fastest peer (decision 0024)."""
    if ours not in times:
        raise harness.BenchError(
            f"claim {wanted['id']} of bench/bounds.toml is about {ours}, which was not measured: correct its `ours`, or measure it"
        )
    found = [fastest(times, method) for method in wanted.get("peers", [wanted.get("limit")])]
    others = [name for name in found if name is not None]
    if not others:
        return None
    strongest = min(others, key=lambda name: typical_s(times[name]))
    pairs = harness.paired_ratios(total_s(times[strongest]), total_s(times[ours]))
    spread = Spread.of(pairs)
    detail = {
        "against": strongest,
        "median_of_pairs": spread.median,
        "undisturbed": undisturbed_s(times[strongest]) / undisturbed_s(times[ours]),
        "interval": harness.interval_of(times[strongest], times[ours]),
        "least": spread.least,
        "most": spread.most,
        "repetitions": len(pairs),
    }
    value = typical_s(times[strongest]) / typical_s(times[ours])
    bound = wanted["bound"]
    limit = fastest(times, wanted["limit"]) if "of_limit" in wanted else None
    if limit is not None:
        # The larger of the two factors, so that a disturbance of the raw writes does not lower the bound.
        detail["limit"] = max(of(times[strongest]) / of(times[limit]) for of in (typical_s, undisturbed_s))
        detail["nominal_bound"] = bound
        bound = min(bound, wanted["of_limit"] * detail["limit"])
    return Claim(f"{wanted['id']}/{where}", wanted["text"], value, bound, detail=detail)


@dataclasses.dataclass(frozen=True)
class Column:
    """A cell in a table of speeds."""

    heading: str
    volume_bytes: int
    times: Mapping[str, Times]


def print_speeds(title: str, columns: Sequence[Column], entries: Sequence[Entry]) -> None:
    """A row for each method, a column for each cell: GB/s at the medians, and the spread of the repetitions."""
    console.print(f"\n[bold]{title}[/bold]; GB/s at the medians of the repetitions, ± half their range in percent")
    table = Table()
    table.add_column("method")
    table.add_column("files")
    for column in columns:
        table.add_column(column.heading, justify="right")
    lines: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        # One line for each tuned method: its settings may differ between cells, and are printed above.
        label = entry.name if entry.is_ours else entry.method
        line = lines.setdefault((label, entry.files), [""] * len(columns))
        for at, column in enumerate(columns):
            if entry.name not in column.times or not (entry.is_ours or entry.name == fastest(column.times, entry.method)):
                continue
            times = column.times[entry.name]
            spread = Spread.of(list(total_s(times).values()))
            speed = column.volume_bytes / typical_s(times) / 1e9
            line[at] = f"{speed:.2f} ±{50 * (spread.most - spread.least) / spread.median:.0f}%"
    for _, family in itertools.groupby(lines.items(), key=lambda item: item[0][0].split("_")[0]):
        for (label, files), line in family:
            table.add_row(label, files, *line)
        table.add_section()
    console.print(table)


def progress_bar() -> Progress:
    columns = (TextColumn("{task.percentage:3.0f}%"), BarColumn(30), TimeElapsedColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=console, transient=True)


def print_settings(settings: Mapping[str, str], entries: Sequence[Entry], tuned: Mapping[str, Tuned]) -> None:
    """The bench's own settings, those of our entries, and those that the tuning kept."""
    shown = dict(settings)
    shown.update({entry.name: entry.settings for entry in entries if entry.is_ours})
    for key, choice in tuned.items():
        shown[f"tuned, {key}"] = f"MPI-IO {choice.mpi_io}; " + ", ".join(entry.name for entry in choice.entries)
    shown.update({entry.name: entry.settings for choice in tuned.values() for entry in choice.entries})
    harness.print_settings("Settings", shown)


def record_of(entries: Sequence[Entry], tuned: Mapping[str, Tuned]) -> dict[str, Any]:
    """The settings, for the record."""
    return {
        "tuned": {
            key: {"mpi_io": choice.mpi_io, "entries": [entry.name for entry in choice.entries], "rows": list(choice.rows)}
            for key, choice in tuned.items()
        },
        "entries": [dataclasses.asdict(entry) for entry in entries],
    }


def refuse_no_cells(chosen: Sequence[Any], pattern: str, size: str, keys: Iterable[str]) -> None:
    """Raises BenchError if the pattern of --cells matches none of the cells of this size, whose keys are `keys`."""
    if not chosen:
        raise harness.BenchError(f"--cells {pattern} matches none of the cells of size {size}: {', '.join(keys)}")


def finish(
    size: str, rows: Sequence[Row], claims: Sequence[Claim], record: Path, started: float, planned_s: float, least: int
) -> int:
    """Prints the end of a bench of the given size; returns its exit status."""
    took = time.monotonic() - started
    where = record.relative_to(harness.ROOT)
    console.print(f"{len(rows)} timings, every byte that was written read back and checked, in {took:.0f} s; {where}")
    if took > planned_s + 30:
        console.print(f"The plan was {planned_s:.0f} s; {least} repetitions of each cell took longer on this machine now.")
    if size == "quick":
        console.print("A quick run shows the claims; only SIZE=full decides whether they hold.")
        return 0
    return 0 if all(claim.holds for claim in claims) else 1
