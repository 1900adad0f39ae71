"""A run in few numbers: what its processes did, by call and by file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.trace.log import Log, LogError, read_log

READS = {"read", "stdio_read"}
WRITES = {"write", "stdio_write"}
# Where programs and the system have their own files.
SYSTEM = ("/proc/", "/sys/", "/usr/", "/lib", "/etc/", "/opt/", "/bin/", "/sbin/", "/run/", "/var/lib/")


def is_data(name: str) -> bool:
    """Whether a name is likely to be of the user's data: no pipe or socket, no program, no library, nothing of the system."""
    return name.startswith("/") and not name.startswith(SYSTEM) and (not name.startswith("/dev/") or name.startswith("/dev/shm/"))


@dataclass
class Sum:
    """Calls of one kind, or of one file."""

    calls: int = 0
    failed: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    busy_s: float = 0.0

    def add(self, group: str, results: np.ndarray[Any, Any], busy_ns: np.ndarray[Any, Any]) -> None:
        self.calls += len(results)
        self.failed += int(np.count_nonzero(results < 0))
        moved = int(results[results > 0].sum())
        self.read_bytes += moved if group in READS else 0
        self.written_bytes += moved if group in WRITES else 0
        self.busy_s += float(busy_ns.sum()) / 1e9


@dataclass
class Summary:
    processes: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, Sum] = field(default_factory=dict)
    files: dict[str, Sum] = field(default_factory=dict)
    dropped: int = 0
    damaged: list[str] = field(default_factory=list)


def read_run(folder: Path) -> tuple[list[Log], list[str]]:
    """The logs of a run, and what is wrong with those that cannot be read. LogError where there is none."""
    logs, damaged = [], []
    paths = sorted(folder.glob("*.trace"))
    if not paths:
        raise LogError(f"{folder}: no logs of calls in it; `tailrace run --log {folder} -- COMMAND` makes them")
    for path in paths:
        try:
            logs.append(read_log(path))
        except LogError as error:
            damaged.append(str(error))
    return logs, damaged


def summarize(logs: Iterable[Log], damaged: Sequence[str] = ()) -> Summary:
    summary = Summary(damaged=list(damaged))
    for log in logs:
        _add(summary, log)
    return summary


def _add(summary: Summary, log: Log) -> None:
    events = log.events
    busy_ns = (events["end_ns"] - events["begin_ns"]).astype(np.int64)
    for number in np.unique(events["call"]):
        call = log.calls[int(number)]
        of_call = events["call"] == number
        summary.calls.setdefault(call.name, Sum()).add(call.group, events["result"][of_call], busy_ns[of_call])
        files = events["file"][of_call]
        for file in np.unique(files[files != 0]):
            chosen = of_call.copy()
            chosen[of_call] = files == file
            name = log.name_of(int(file))
            summary.files.setdefault(name, Sum()).add(call.group, events["result"][chosen], busy_ns[chosen])
    summary.dropped += log.header["dropped_events"]
    header = log.header
    about = {key: header[key] for key in ("host", "process", "parent", "rank", "program", "command")}
    seconds = (header["end_ns"] - header["begin_ns"]) / 1e9 if log.ended else None
    summary.processes.append({**about, "events": len(events), "ended": log.ended, "seconds": seconds})
