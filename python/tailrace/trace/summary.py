"""Sums over a run: by process, by call and by file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.trace.schema import READS, WRITES, Tables

# Folders with files of the system and of installed programs.
SYSTEM = ("/proc/", "/sys/", "/usr/", "/lib", "/etc/", "/opt/", "/bin/", "/sbin/", "/run/", "/var/lib/")
SUMS = ("calls", "failed", "read_bytes", "written_bytes", "busy_ns")


def is_user_data(name: str) -> bool:
    """Whether a name is likely to be user data: no pipe, socket, program, library or file of the system."""
    return name.startswith("/") and not name.startswith(SYSTEM) and (not name.startswith("/dev/") or name.startswith("/dev/shm/"))


@dataclass
class Sum:
    """Calls of one kind, or of one file."""

    calls: int = 0
    failed: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    busy_s: float = 0.0


@dataclass
class Summary:
    processes: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, Sum] = field(default_factory=dict)
    files: dict[str, Sum] = field(default_factory=dict)
    counted: list[dict[str, Any]] = field(default_factory=list)  # rows of `counters`: calls without events
    results: list[dict[str, Any]] = field(default_factory=list)  # of a benchmark
    dropped: int = 0
    damaged: Sequence[str] = ()


def summarize(parts: Iterable[Tables], damaged: Sequence[str] = ()) -> Summary:
    """`damaged` is read after the parts, because it may grow while they are read."""
    summary, sums = Summary(), []
    for part in parts:
        sums.append(_sums(part["events"]))
        summary.processes += [_process(row) for row in part["processes"].to_pylist()]
        summary.counted += part["counters"].to_pylist()
        summary.results += part["results"].to_pylist()
    if sums:
        every = pa.concat_tables(sums)
        summary.calls, summary.files = _by(every, "call"), _by(every, "file")
    summary.dropped = sum(process["dropped_events"] for process in summary.processes)
    summary.damaged = list(damaged)
    return summary


def _process(row: dict[str, Any]) -> dict[str, Any]:
    about = {key: row[key] for key in ("host", "process", "parent", "rank", "program", "command", "events", "dropped_events")}
    ended = row["end_ns"] is not None
    return {**about, "ended": ended, "seconds": (row["end_ns"] - row["begin_ns"]) / 1e9 if ended else None}


def _sums(events: pa.Table) -> pa.Table:
    """A row of sums for each call and file."""
    moved = pc.max_element_wise(events["result"], 0)
    table = pa.table(
        {
            "call": events["call"],
            "file": events["file"],
            "calls": pa.repeat(1, len(events)),
            "failed": pc.less(events["result"], 0),
            "read_bytes": pc.if_else(pc.is_in(events["group"], pa.array(READS)), moved, 0),
            "written_bytes": pc.if_else(pc.is_in(events["group"], pa.array(WRITES)), moved, 0),
            "busy_ns": pc.subtract(events["end_ns"], events["begin_ns"]),
        }
    )
    return _added(table, ["call", "file"])


def _added(table: pa.Table, keys: list[str]) -> pa.Table:
    added = table.group_by(keys).aggregate([(name, "sum") for name in SUMS])
    texts = [added[key].cast(pa.string()) for key in keys]
    return pa.table([*texts, *(added[f"{name}_sum"].cast(pa.int64()) for name in SUMS)], names=[*keys, *SUMS])


def _by(sums: pa.Table, key: str) -> dict[str, Sum]:
    rows = _added(sums.filter(pc.is_valid(sums[key])), [key]).to_pylist()
    return {row.pop(key): Sum(busy_s=row.pop("busy_ns") / 1e9, **row) for row in rows}
