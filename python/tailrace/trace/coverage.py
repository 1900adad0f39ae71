"""What the logs of a run have seen, against what the kernel has counted for the same processes (/proc/PID/io)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from tailrace.trace.check import Verdict, check
from tailrace.trace.log import BUDGET_SPENT, Log

# Calls that fail so have not come as far as the kernel's counting: EBADF, EFAULT, EINVAL, ESPIPE.
NOT_COUNTED = (-9, -14, -22, -29)
# Bytes go both ways; or past the counts of the process.
BOTH_WAYS, UNCOUNTED = frozenset(["sendfile", "copy_file_range"]), frozenset(["splice"])
ASKED_FOR = {"aio_read": "read", "aio_write": "write"}  # recorded when it is asked for; helping threads do it
READS = frozenset(["read", "fill"])
MEMORY = "/dev/shm/"  # no storage: what processes share
Events = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Moved:
    """Bytes and calls, as the kernel counts them."""

    read_bytes: int = 0
    written_bytes: int = 0
    read_calls: int = 0
    write_calls: int = 0

    def __add__(self, other: Moved) -> Moved:
        return Moved(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: Moved) -> Moved:
        return Moved(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    @classmethod
    def of(cls, counts: dict[str, int]) -> Moved:
        return cls(*(counts[f.name] for f in fields(cls)))

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True)
class Unseen:
    kind: str
    text: str


@dataclass(frozen=True)
class Coverage:
    """Of one process. What the kernel counted is the sum of all others but `kernel`."""

    host: str
    process: int
    rank: int
    program: str
    kernel: Moved | None  # between the log's beginning and its end, without the tracer's own and without children; None: unknown
    descriptors: Moved  # calls that the program and its libraries have made
    streams: Moved  # between streams' buffers and their descriptors; how many calls, only the kernel knows
    library: Moved  # what the C library has read of its own files: users, hosts, time, locales
    loader: Moved  # objects that were loaded meanwhile
    rest: Moved  # of the kernel, not of the four above
    unseen: tuple[Unseen, ...]

    @property
    def bytes_seen(self) -> float:
        """1: every byte that the kernel counted is in the log; of processes whose counts are unknown, not a number."""
        if self.kernel is None:
            return float("nan")
        missing = abs(self.rest.read_bytes) + abs(self.rest.written_bytes)
        return max(0.0, 1 - missing / self.kernel.bytes) if self.kernel.bytes else float(missing == 0)

    def as_json(self) -> dict[str, Any]:
        seen = None if self.kernel is None else self.bytes_seen
        return {**asdict(self), "bytes_seen": seen}


def coverage_of(logs: Sequence[Log]) -> list[Coverage]:
    """By process, in the order of their beginnings."""
    ordered = sorted(logs, key=lambda log: int(log.header["begin_ns"]))
    return [_of_log(log, ordered) for log in ordered]


def _of_log(log: Log, logs: Sequence[Log]) -> Coverage:
    header = log.header
    events = log.events[log.events["begin_ns"] <= header["end_ns"]] if log.ended else log.events
    descriptors, streams = _descriptors(log, events), _streams(log, events)
    before, after = header["loader_at_begin"], header["loader_at_end"]
    known = before["read_calls"] and after["read_calls"]
    loader = Moved(**{key: after[key] - before[key] for key in before}) if known else Moved()
    kernel = _kernel(log, logs)
    library = _library(log, events)
    rest = kernel - descriptors - streams - library - loader if kernel is not None else Moved()
    unseen = tuple(_unseen(log, events, kernel, rest))
    about = (header["host"], header["process"], header["rank"], header["program"])
    return Coverage(*about, kernel, descriptors, streams, library, loader, rest, unseen)


def _kernel(log: Log, logs: Sequence[Log]) -> Moved | None:
    """None where the log has no end: the process was killed, or replaced past the hooks."""
    header = log.header
    if not log.ended:
        return None
    own = Moved.of(header["own"])
    if len(np.unique(log.threads)) <= 1 and not np.isin(log.events["call"], _numbers(log, ASKED_FOR)).any():
        # The counts of its only thread are those of the process without children.
        return Moved.of(header["thread_at_end"]) - Moved.of(header["thread_at_begin"]) - own
    whole = Moved.of(header["at_end"]) - Moved.of(header["at_begin"]) - own
    for child in _children(log, logs):
        whole -= Moved.of(child.header["at_end"])
    return whole


def _children(log: Log, logs: Sequence[Log]) -> list[Log]:
    """Those that have ended while it ran: the kernel counts them with it. Of one that was several programs the last counts all."""
    header = log.header
    last = {
        child.header["process"]: child
        for child in logs
        if (child.header["host"], child.header["parent"]) == (header["host"], header["process"])
        and child.ended
        and header["begin_ns"] <= child.header["end_ns"] <= header["end_ns"]
    }
    return list(last.values())


def _numbers(log: Log, wanted: Iterable[str]) -> list[int]:
    names = frozenset(wanted)
    return [number for number, call in log.calls.items() if call.name in names or call.group in names]


def _descriptors(log: Log, events: Events) -> Moved:
    counted = events[~np.isin(events["result"], NOT_COUNTED)]
    moved = Moved()
    for number in np.unique(counted["call"]):
        call = log.calls[int(number)]
        of_call = counted[counted["call"] == number]
        kind = ASKED_FOR.get(call.name, call.group)
        amounts = of_call["bytes"] if call.name in ASKED_FOR else of_call["result"]
        total, calls = int(amounts[of_call["result"] >= 0].sum()), len(of_call)
        if call.name in UNCOUNTED:
            continue
        if kind == "read" or call.name in BOTH_WAYS:
            moved += Moved(read_bytes=total, read_calls=calls)
        if kind == "write":
            moved += Moved(written_bytes=total, write_calls=calls)
    return moved


def _streams(log: Log, events: Events) -> Moved:
    filled, flushed = (events[np.isin(events["call"], _numbers(log, [group]))] for group in ("fill", "flush"))
    of_files = filled[filled["descriptor"] >= 0]
    return Moved(read_bytes=int(of_files["result"].sum()), written_bytes=int(flushed["result"].sum()))


def _library(log: Log, events: Events) -> Moved:
    """What the C library has read of its own files: fills without a descriptor. What was recorded meanwhile does not count."""
    moves = _numbers(log, READS)
    moved = Moved()
    for inner in events[np.isin(events["call"], _numbers(log, ["fill"])) & (events["descriptor"] < 0)]:
        within = events[(events["begin_ns"] > inner["begin_ns"]) & (events["end_ns"] <= inner["end_ns"])]
        recorded = within[np.isin(within["call"], moves) & (within["descriptor"] >= 0) & (within["result"] >= 0)]
        moved += Moved(int(inner["result"]) - int(recorded["result"].sum()), 0, max(0, int(inner["detail"]) - len(recorded)))
    return moved


def _unseen(log: Log, events: Events, kernel: Moved | None, rest: Moved) -> Iterator[Unseen]:
    """What is known not to be in the log, and what may be the reason where bytes are missing."""
    dropped = int(log.header["dropped_events"])
    if dropped:
        yield Unseen("budget", f"{dropped} {BUDGET_SPENT}")
    if kernel is None:
        yield Unseen("killed", "the process was killed or replaced: what the kernel counted until then is not known")
    mapped = events[np.isin(events["call"], _numbers(log, ["mmap"])) & (events["result"] >= 0)]
    shared = mapped[(mapped["detail"] >> np.uint64(32)).astype(bool)]
    sizes = {log.name_of(int(event["file"])): int(event["bytes"]) for event in shared}
    files = sorted((name for name in sizes if not name.startswith(MEMORY)), key=lambda name: -sizes[name])
    if files:
        size, which = sum(sizes[name] for name in files), ", ".join([*files[:2], "..."][: len(files)])
        yield Unseen("mmap", f"{size} bytes of files are mapped as shared memory, what goes through it is seen by nobody: {which}")
    spliced = events[np.isin(events["call"], _numbers(log, UNCOUNTED)) & (events["result"] > 0)]
    if len(spliced):
        yield Unseen("splice", f"{int(spliced['result'].sum())} bytes of splice: in the log, and not in the kernel's counts")
    wide = events[np.isin(events["call"], _numbers(log, ["stdio_write", "stdio_read"])) & (events["result"] == 0)]
    if rest.bytes:
        yield Unseen("rest", "; ".join(_reasons(log.header["program"], bool(len(wide)), len(np.unique(log.threads)) > 1)))


@lru_cache(maxsize=256)
def _reasons(program: str, wide: bool, threads: bool) -> tuple[str, ...]:
    """Why the log and the kernel may differ in a process of this program."""
    reasons = ["messages that the C library writes, files that it reads by itself, or libraries loaded with more than one read"]
    if wide:
        reasons.append("streams of wide characters or formatted input")
    if threads:
        reasons.append("a stream that several threads use at once, or children that were not recorded")
    try:
        report = check(program)
    except (ValueError, RuntimeError, OSError):
        return tuple(reasons)
    return (*reasons, *(f"{finding.where.name}: {finding.said}" for finding in report.findings if finding.verdict >= Verdict.GAPS))
