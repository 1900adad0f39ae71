"""The tables of a run's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.plain_text import plain
from tailrace.quantities import bytes_text, count_text
from tailrace.trace.coverage import Coverage
from tailrace.trace.layers import BUFFERED, COUNTED, LIBRARY, SYSTEM, TRANSFER, CallName
from tailrace.trace.model import Run
from tailrace.trace.phases import Phases
from tailrace.trace.system_files import is_user_data

MOST_ROWS, MOST_GROUPS = 20, 10
LONG_S = 100  # seconds of which a tenth is enough
SUMS = ["calls", "read", "written", "self s"]
MARKS = "phase"  # the layer of marks of phases, which are no I/O
# Words in the name of a call, and its operation; the first that fits counts.
OPERATIONS = (
    ("dir", "list"),
    ("open", "open"),
    ("create", "open"),
    ("mkstemp", "open"),
    ("close", "close"),
    ("unlink", "remove"),
    ("delete", "remove"),
    ("stat", "look up"),
    ("access", "look up"),
    ("realpath", "look up"),
    ("seek", "seek"),
    ("truncate", "resize"),
    ("fallocate", "resize"),
    ("set_size", "resize"),
    ("rename", "rename"),
)


@dataclass(frozen=True)
class Table:
    title: str
    text: str
    columns: list[str]
    rows: list[list[str]]
    words: int = 1  # columns at the left with text; the others are numbers


def tables_of(run: Run, phases: Phases | None, coverage: Sequence[Coverage]) -> list[Table]:
    found = [_phases(phases)] if phases else []
    own = without_mpi(run)
    found += [_layers(run), _groups(own), _operations(own), _directories(own), _nodes(run), _ranks(run)]
    found += [_slowest(own), _failures(own), _coverage(coverage), _unknown(run)]
    return [table for table in found if table.rows]


def without_mpi(run: Run) -> Run:
    """The run without the calls and the files of MPI itself, such as memory that its ranks share."""
    mpi = pa.array([number for number, call in enumerate(run.calls) if call.place.layer == "MPI"], pa.int32())
    sums = run.sums.filter(pc.invert(pc.or_(run.sums["within_mpi"], pc.is_in(run.sums["call"], mpi))))
    files = pc.unique(sums["file"])
    kept = set(files.to_pylist())
    return replace(
        run,
        sums=sums,
        sizes=run.sizes.filter(pc.is_in(run.sizes["file"], files)),
        orders=run.orders.filter(pc.is_in(run.orders["file"], files)),
        failed_calls=[row for row in run.failed_calls if row["file"] in kept],
        slow_calls=[row for row in run.slow_calls if row["file"] in kept],
    )


def operation(call: CallName) -> str:
    """What users call it: open, write, close ..."""
    if call.place.kind in ("read", "write", "sync"):
        return call.place.kind
    name = call.name.lower()
    if name in ("rmdir", "mkdir", "chdir"):
        return {"rmdir": "remove", "mkdir": "make directory", "chdir": "other"}[name]
    return next((found for word, found in OPERATIONS if word in name), "other")


def _size(count: int | None) -> str:
    return "" if count is None else bytes_text(count)


def _sums(row: Mapping[str, Any]) -> list[str]:
    self_ns = row["self_ns"]
    seconds = "" if self_ns is None else _seconds(self_ns / 1e9)
    return [count_text(row["calls"]), _size(row["read_bytes"]), _size(row["written_bytes"]), seconds]


def _seconds(seconds: float) -> str:
    return f"{seconds:.4f}" if seconds < LONG_S else f"{seconds:,.1f}".replace(",", " ")


def _by_time(totals: Mapping[Any, Mapping[str, Any]]) -> list[tuple[Any, Mapping[str, Any]]]:
    return sorted(totals.items(), key=lambda item: -(item[1]["self_ns"] or 0))


def _phases(phases: Phases) -> Table:
    rows = []
    for phase in sorted(phases.phases, key=lambda phase: -phase.seconds)[:MOST_ROWS]:
        exec_s = max(phase.critical_s - phase.sync_s, 0.0)
        late = f"{phase.late_by_io_s:.3f}" if phase.collectives else ""
        figures = [f"{phase.seconds:.3f}", f"{exec_s:.3f}", f"{phase.sync_s:.3f}" if phase.collectives else "", late]
        times = count_text(phase.times)
        rows.append([plain(phase.name), times, *figures, f"{phase.io_s:.3f}", _size(phase.read_bytes), _size(phase.written_bytes)])
    text = (
        "Seconds are means over ranks. Sync is from the arrival of the first rank at a collective to that of the last; exec is the "
    )
    text += "critical time without it. Late by I/O is the part of sync that the last rank's I/O explains."
    columns = ["phase", "times", "seconds", "exec s", "sync s", "late by I/O s", "I/O s", "read", "written"]
    return Table("Phases with sync", text, columns, rows)


def _layers(run: Run) -> Table:
    rows = [[layer, *_sums(row)] for layer, row in run.by_layer().items() if layer != MARKS]
    return Table("Layers", "Self time is the time of calls without that of calls that they made: its sum counts nothing twice.",
                 ["layer", *SUMS], rows)  # fmt: skip


def _groups(run: Run) -> Table:
    chosen = [(group, row) for group, row in run.groups() if is_user_data(group.files[0])]
    chosen.sort(key=lambda pair: -(pair[1]["self_ns"] or 0))
    rows = [
        [plain(group.name), group.sharing, f"{group.verb} by {group.users_text}", str(len(group.files)), *_sums(row)]
        for group, row in chosen[:MOST_ROWS]
    ]
    text = "Files whose names differ only in numbers: * is the rank of the only process that uses a file, N another number."
    text += " Files that MPI uses for itself are left out."
    return Table("Files", text, ["file", "used", "by", "files", *SUMS], rows, 3)


@dataclass
class OperationSum:
    """Of a group of files: calls and bytes that reach the system or its buffers, and seconds of all layers and processes."""

    file: str
    operation: str
    calls: int = 0
    failed: int = 0
    seconds: float | None = None  # not known
    moved: int = 0


def operation_sums(run: Run) -> list[OperationSum]:
    """Of the groups of files with data of the user; those with most seconds first."""
    groups = [group for group, _ in run.groups() if is_user_data(group.files[0])]
    group_of = np.full(len(run.files) + 1, -1)
    place = {name: number for number, name in enumerate(run.files)}
    for number, group in enumerate(groups):
        group_of[[place[name] for name in group.files]] = number
    known = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)
    names = ("calls", "failed", "read_bytes", "written_bytes")
    added = run.sums.group_by(["file", "call"]).aggregate([*((name, "sum") for name in names), ("self_ns", "sum", known)])
    sums: dict[tuple[int, str], OperationSum] = {}
    has_system = any(call.place.moves in (SYSTEM, BUFFERED) for call in run.calls)
    for row in added.to_pylist():
        of, call = int(group_of[row["file"]]), run.calls[row["call"]]
        if of < 0 or not (call.place.is_io or call.place.layer == COUNTED):
            continue
        what = operation(call)
        total = sums.setdefault((of, what), OperationSum(groups[of].name, what))
        is_library = call.place.layer not in ("POSIX", "stdio", COUNTED) or call.place.moves == LIBRARY
        if call.place.moves != TRANSFER and not (is_library and has_system):
            total.calls += row["calls_sum"]
            total.failed += row["failed_sum"] or 0
            total.moved += (row["read_bytes_sum"] or 0) + (row["written_bytes_sum"] or 0)
        if row["self_ns_sum"] is not None:
            total.seconds = (total.seconds or 0.0) + row["self_ns_sum"] / 1e9
    costs: dict[str, float] = {}
    for total in sums.values():
        costs[total.file] = costs.get(total.file, 0.0) + (total.seconds or 0.0)
    ordered = sorted(sums.values(), key=lambda total: (-costs[total.file], total.file, -(total.seconds or 0.0)))
    return [total for total in ordered if total.calls or total.seconds]


def _operations(run: Run) -> Table:
    found = operation_sums(run)
    shown = list(dict.fromkeys(total.file for total in found))[:MOST_GROUPS]
    rows = []
    for total in found:
        if total.file in shown:
            seconds = "" if total.seconds is None else _seconds(total.seconds)
            counts = [count_text(total.calls), count_text(total.failed) if total.failed else "", seconds]
            rows.append([plain(total.file), total.operation, *counts, bytes_text(total.moved) if total.moved else ""])
    text = "Of each group of files: seconds summed over all processes, of all layers. Calls and bytes are those to the system."
    return Table("Operations by files", text, ["file", "operation", "calls", "failed", "sum s", "bytes"], rows, 2)


def _directories(run: Run) -> Table:
    chosen = [(name, row) for name, row in _by_time(run.by_directory()) if is_user_data(name)]
    return Table("Directories", "", ["directory", *SUMS], [[plain(name), *_sums(row)] for name, row in chosen[:MOST_ROWS]])


def _nodes(run: Run) -> Table:
    rows = [[plain(name), *_sums(row)] for name, row in _by_time(run.by_host())[:MOST_ROWS]]
    return Table("Nodes", "", ["node", *SUMS], rows if run.hosts else [])


def _ranks(run: Run) -> Table:
    rows = [[plain(name), *_sums(row)] for name, row in _by_time(run.by_rank())[:MOST_ROWS]]
    return Table("Ranks and processes", "Those with most time in calls.", ["process", *SUMS], rows)


def _slowest(run: Run) -> Table:
    chosen = [row for row in run.slowest() or [] if row["file"] and is_user_data(row["file"])]
    rows = [
        [row["call"], plain(row["file"]), _rank(row), f"{row['begin_s']:.4f}", f"{row['seconds']:.4f}", _size(row["bytes"])]
        for row in chosen[:MOST_ROWS]
    ]
    return Table("Slowest calls", "", ["call", "file", "rank", "began s", "seconds", "bytes"], rows, 2)


def _rank(row: Mapping[str, Any]) -> str:
    return "" if row["rank"] is None else str(row["rank"])


def _failures(run: Run) -> Table:
    chosen = [row for row in run.failures() or [] if row["file"] and is_user_data(row["file"])]
    rows = [[row["call"], row["error"] or "", plain(row["file"]), _rank(row), str(row["calls"])] for row in chosen[:MOST_ROWS]]
    return Table("Failed calls", "", ["call", "error", "file", "rank", "times"], rows, 3)


def _coverage(coverage: Sequence[Coverage]) -> Table:
    """Processes that are not whole; where all are, one line says so."""
    if not coverage:
        return Table("What the log has", "", [], [])
    partial = [each for each in coverage if not each.is_whole]
    rows = [[str(each.process), plain(each.program), plain(each.why_not_whole)] for each in partial[:MOST_ROWS]]
    whole = f"{len(coverage) - len(partial)} of {len(coverage)} processes have all calls that the kernel has counted."
    rows = rows or [["all", "", "every byte that the kernel has counted is in the log"]]
    return Table("What the log has", f"{whole} More: tailrace coverage.", ["process", "program", "missing"], rows, 3)


def _unknown(run: Run) -> Table:
    """What the source cannot feed."""
    rows = [[name, plain(why)] for name, why in {**run.facts.unknown, **run.unknown}.items()]
    rows += [["calls", plain(text)] for text in (*run.limited(), *run.messages.get("partial", ()))]
    return Table("What is not known of this run", "", ["figure", "why"], rows, 2)
