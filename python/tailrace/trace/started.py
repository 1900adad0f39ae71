"""Processes that recorded ones started, and that have no log: the tracer is not in them, nor in what they start."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tailrace.launch.launchers import LAUNCHER_NAMES
from tailrace.trace.log import Events, Log, LogError, logs_of, read_log

MOST_NAMED = 8  # ranks
HAS_PROCESS, LOSES_TRACER = 1, 2  # details of `spawn` (src/trace/format.hpp)
NEVER_NS = -1  # the latest beginning of a log that there cannot be
SHELL_BEGINS_NS = 10**9  # the shell of system() begins its log this long after the call at most
# The first child in a namespace of processes has a number that its parent does not know, and no parent (0). It begins by then.
NAMESPACE_BEGINS_NS = 10**9


@dataclass(frozen=True)
class Unrecorded:
    host: str
    process: int  # 0: not known
    parent: int  # the same number as `process` where the process became another program; 0: not known
    parent_program: str
    program: str  # as it was started; "": a child that continued with its parent's program

    @property
    def text(self) -> str:
        parent = f"{Path(self.parent_program).name} ({self.parent})"
        if self.process == self.parent != 0:
            return f"{self.program or 'another program'}, which {parent} became, and whatever it started"
        number = f"process {self.process}, " if self.process else ""
        return f"{number}{self.program or 'a child'}, started by {parent}, and whatever it started"


def read_starts(folder: Path) -> list[Log]:
    """The logs of a run with nothing but the beginnings of processes, read one at a time. Damaged logs are left out.

    Raises LogError if the folder has no log.
    """
    logs = []
    for path in logs_of(folder):
        try:
            log = read_log(path)
        except LogError:
            continue
        numbers = [number for number, call in log.calls.items() if call.group == "process"]
        kept = np.isin(log.events["call"], numbers)
        logs.append(replace(log, events=log.events[kept], threads=log.threads[kept]))
    return logs


def unrecorded_in(logs: Sequence[Log]) -> list[str]:
    """A line for each process without a log, and for ranks without one."""
    return [*missing_ranks(logs), *(process.text for process in unrecorded_processes(logs))]


def unrecorded_processes(logs: Sequence[Log]) -> list[Unrecorded]:
    """In the order of their parents' logs. Launchers are left out: their ranks are recorded, and they are not."""
    begins: dict[tuple[str, int], list[int]] = defaultdict(list)
    children: dict[tuple[str, int], list[int]] = defaultdict(list)
    without_parent: list[int] = []
    for log in logs:
        host, begin_ns = log.header["host"], int(log.header["begin_ns"])
        begins[host, log.header["process"]].append(begin_ns)
        children[host, log.header["parent"]].append(begin_ns)
        if not log.header["parent"]:
            without_parent.append(begin_ns)
    found = []
    without_parent.sort()
    for log in logs:
        host, me = log.header["host"], log.header["process"]
        for process, program, since_ns, until_ns in _started(log):
            possible = begins[host, process] if process else children[host, me]
            has_log = any(since_ns <= begin <= until_ns for begin in possible)
            if not has_log and process != me and not program:
                has_log = _take_first(without_parent, since_ns, since_ns + NAMESPACE_BEGINS_NS)
            if not has_log and Path(program).name not in LAUNCHER_NAMES:
                found.append(Unrecorded(host, process, me, log.header["program"], program))
    return found


def _take_first(begins: list[int], since_ns: int, until_ns: int) -> bool:
    """Removes the first beginning within these times, and returns whether there was one."""
    first = next((begin for begin in begins if since_ns <= begin <= until_ns), None)
    if first is not None:
        begins.remove(first)
    return first is not None


def missing_ranks(logs: Iterable[Log]) -> list[str]:
    """What is missing of the ranks that a launcher started, one text for each size of a job."""
    ranks: dict[int, set[int]] = defaultdict(set)
    for log in logs:
        if log.header["ranks"] > 0 and log.header["rank"] >= 0:
            ranks[log.header["ranks"]].add(log.header["rank"])
    texts = []
    for size, there in sorted(ranks.items()):
        missing = size - sum(rank < size for rank in there)
        if missing:
            first = itertools.islice((rank for rank in range(size) if rank not in there), MOST_NAMED)
            some = ", ".join(map(str, first)) + (", ..." if missing > MOST_NAMED else "")
            texts.append(f"{missing} of {size} ranks have no log: {some}")
    return texts


def _events_of(log: Log, name: str) -> Events:
    numbers = [number for number, call in log.calls.items() if call.name == name]
    return log.events[np.isin(log.events["call"], numbers)]


def _started(log: Log) -> Iterator[tuple[int, str, int, float]]:
    """(process, program, the earliest and the latest time at which its log begins) of each that this one started, or became."""
    for event in _events_of(log, "fork"):
        if event["result"] > 0:
            yield int(event["result"]), "", int(event["begin_ns"]), math.inf
    spawned: dict[int, tuple[str, int]] = {}
    for event in _events_of(log, "spawn"):
        program, begin_ns, result = log.name_of(int(event["file"])), int(event["begin_ns"]), int(event["result"])
        if not event["detail"] & HAS_PROCESS:
            if event["detail"] & LOSES_TRACER:
                yield 0, "a shell without the tracer's variables, of system() or wordexp()", begin_ns, NEVER_NS
            elif result != -1:
                yield 0, "a shell of system()", begin_ns, int(event["end_ns"]) + SHELL_BEGINS_NS
        elif result > 0:
            spawned[result] = (program, begin_ns)
        else:
            spawned.pop(int(event["bytes"]), None)  # a child of vfork that could not become this program
    for process, (program, begin_ns) in spawned.items():
        yield process, program, begin_ns, math.inf
    replaced = _events_of(log, "exec")
    if len(replaced) and replaced[-1]["result"] == 0:
        last = replaced[-1]
        yield log.header["process"], log.name_of(int(last["file"])), int(last["begin_ns"]), math.inf
