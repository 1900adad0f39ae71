"""Compares the logs of a run with the kernel's counts of the same processes (/proc/PID/io)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from tailrace.trace.check import Verdict, check
from tailrace.trace.log import Events, Log
from tailrace.trace.summed import summed_calls

# Errors that the kernel finds before it counts the call: EBADF, EFAULT, EINVAL, ESPIPE.
NOT_COUNTED = (-9, -14, -22, -29)
# Calls that both read and write, and calls that the kernel does not count.
BOTH_WAYS, UNCOUNTED = frozenset(["sendfile", "copy_file_range"]), frozenset(["splice", "io_submit_read", "io_submit_write"])
ASYNCHRONOUS = {"aio_read": "read", "aio_write": "write"}  # recorded at the request; other threads transfer the bytes
IO_URING, COUNTED, IN_TOTAL, REST = "io_uring", "counted", "counted in total", "rest"  # kinds of Unseen
READS = frozenset(["read", "fill"])
SHARED_MEMORY = "/dev/shm/"  # no storage


@dataclass(frozen=True)
class KernelCounts:
    """Bytes and calls, as the kernel counts them."""

    read_bytes: int = 0
    written_bytes: int = 0
    read_calls: int = 0
    write_calls: int = 0

    def __add__(self, other: KernelCounts) -> KernelCounts:
        return KernelCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: KernelCounts) -> KernelCounts:
        return KernelCounts(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    @property
    def positive(self) -> KernelCounts:
        return KernelCounts(*(max(0, getattr(self, f.name)) for f in fields(self)))

    @classmethod
    def of(cls, counts: dict[str, int]) -> KernelCounts:
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
    """The coverage of one process: `kernel` is the sum of the five fields after it, without `surplus`. No field is negative."""

    host: str
    process: int
    rank: int
    program: str
    kernel: (
        KernelCounts | None
    )  # between the log's beginning and its end, without the tracer's own and without children; None: unknown
    descriptors: KernelCounts  # calls of the program and its libraries
    streams: KernelCounts  # between buffers and descriptors; the number of calls is not known
    library: KernelCounts  # files that the C library reads by itself: users, hosts, time, locales
    loader: KernelCounts  # libraries that were loaded during the log
    rest: KernelCounts  # counted by the kernel, and in none of the four above
    surplus: KernelCounts  # in the four above, and not counted by the kernel
    unseen: tuple[Unseen, ...]

    @property
    def bytes_seen(self) -> float:
        """The fraction of the kernel's bytes that the log has: 1 is all. Not a number where the kernel's counts are unknown."""
        if self.kernel is None:
            return float("nan")
        missing = self.rest.bytes
        return max(0.0, 1 - missing / self.kernel.bytes) if self.kernel.bytes else float(missing == 0)

    @property
    def is_whole(self) -> bool:
        """Whether the log has all bytes that the process moved, as far as is known."""
        return self.has_all_bytes and not self.uses_io_uring

    @property
    def has_all_bytes(self) -> bool:
        return self.rest.bytes == self.surplus.bytes == 0 and not self.has_unknown_calls

    @property
    def has_unknown_calls(self) -> bool:
        """Whether of some calls nothing but their number is known, neither by the log nor by the kernel."""
        return self.kernel is None and any(each.kind == IN_TOTAL for each in self.unseen)

    @property
    def uses_io_uring(self) -> bool:
        return any(each.kind == IO_URING for each in self.unseen)

    @property
    def why_not_whole(self) -> str:
        """One sentence; empty where the log is whole."""
        if self.is_whole:
            return ""
        who = f"process {self.process} ({self.program.rpartition('/')[2]})"
        reason = next(each.text for each in self.unseen if each.kind in (IO_URING, IN_TOTAL, REST))
        if not self.rest.bytes:
            return (
                f"{who}: {reason}"
                if not self.surplus.bytes
                else f"{who}: {self.surplus.bytes} bytes more than the kernel counted: {reason}"
            )
        return f"{who}: {self.rest.read_bytes} bytes read and {self.rest.written_bytes} bytes written are not in the log: {reason}"

    def as_json(self) -> dict[str, Any]:
        seen = None if self.kernel is None else self.bytes_seen
        return {**asdict(self), "bytes_seen": seen}


def coverage_of(logs: Sequence[Log]) -> list[Coverage]:
    """The coverage of each process, in the order of their beginnings."""
    ordered = sorted(logs, key=lambda log: int(log.header["begin_ns"]))
    return [_of_log(log, ordered) for log in ordered]


def _of_log(log: Log, logs: Sequence[Log]) -> Coverage:
    header = log.header
    events = log.events[log.events["begin_ns"] <= header["end_ns"]] if log.ended else log.events
    summed = summed_calls(log, header["end_ns"] if log.ended else None)
    descriptors, streams = _descriptors(log, events, summed), _streams(log, events, summed)
    loader = _loader(log)
    kernel = _kernel(log, logs)
    library = _library(log, events)
    difference = kernel - descriptors - streams - library - loader if kernel is not None else KernelCounts()
    rest, surplus = difference.positive, (KernelCounts() - difference).positive
    unseen = tuple(_unseen(log, events, kernel, rest + surplus))
    identity = (header["host"], header["process"], header["rank"], header["program"])
    return Coverage(*identity, kernel, descriptors, streams, library, loader, rest, surplus, unseen)


def _kernel(log: Log, logs: Sequence[Log]) -> KernelCounts | None:
    """The kernel's counts between the log's beginning and its end, without the tracer's own and without children. None where the
    log has no end: the process was killed, or replaced without a hooked call. None where it could not read them at its end."""
    header = log.header
    if not log.ended:
        return None
    own = KernelCounts.of(header["own"])
    if not _has_counts_at_end(log):
        return None
    threads = np.unique(np.concatenate((log.threads, log.merged["thread"])))
    has_one_thread = len(threads) <= 1 and not log.header["dropped_events"]  # a counter has the calls of all threads
    if has_one_thread and not np.isin(log.events["call"], _numbers(log, ASYNCHRONOUS)).any():
        # The process has one thread, and the counts of a thread are without children.
        return KernelCounts.of(header["thread_at_end"]) - KernelCounts.of(header["thread_at_begin"]) - own
    whole = KernelCounts.of(header["at_end"]) - KernelCounts.of(header["at_begin"]) - own
    for child in _children(log, logs):
        whole -= _counts_at_end(child, logs)
    return whole


def _has_counts_at_end(log: Log) -> bool:
    """A process that became another user may no longer read the kernel's counts of itself: they are 0."""
    return any(log.header["at_end"].values()) or not any(log.header["at_begin"].values())


def _counts_of_killed(log: Log, logs: Sequence[Log]) -> KernelCounts:
    """What the kernel had counted for a process that was killed, by its own log and those of its children."""
    summed = summed_calls(log)
    recorded = _descriptors(log, log.events, summed) + _streams(log, log.events, summed) + _library(log, log.events) + _loader(log)
    total = KernelCounts.of(log.header["at_begin"]) + KernelCounts.of(log.header["own"]) + recorded
    for child in _children(log, logs):
        total += _counts_at_end(child, logs)
    return total


def _counts_at_end(log: Log, logs: Sequence[Log]) -> KernelCounts:
    """What the kernel adds to the parent's counts when it waits for this process."""
    known = log.ended and _has_counts_at_end(log)
    return KernelCounts.of(log.header["at_end"]) if known else _counts_of_killed(log, logs)


def _loader(log: Log) -> KernelCounts:
    """What the loader read during the log."""
    before, after = log.header["loader_at_begin"], log.header["loader_at_end"]
    known = before["read_calls"] and after["read_calls"]
    return KernelCounts(**{key: max(0, after[key] - before[key]) for key in before}) if known else KernelCounts()


def _children(log: Log, logs: Sequence[Log]) -> list[Log]:
    """The children that ended while the process ran: the kernel adds their counts to its own. Of a child that was several programs
    in turn, the last log has the counts of all."""
    header = log.header
    last = {
        child.header["process"]: child
        for child in logs
        if (child.header["host"], child.header["parent"]) == (header["host"], header["process"])
        and child is not log
        and header["begin_ns"] <= _end_ns(child) <= _end_ns(log)
    }
    return list(last.values())


def _end_ns(log: Log) -> int:
    """When the process ended; of one that was killed, the end of its last recorded call."""
    if log.ended:
        return int(log.header["end_ns"])
    ends = (log.events["end_ns"], log.merged["last_ns"])
    return max(int(each.max()) if len(each) else int(log.header["begin_ns"]) for each in ends)


def _numbers(log: Log, wanted: Iterable[str]) -> list[int]:
    names = frozenset(wanted)
    return [number for number, call in log.calls.items() if call.name in names or call.group in names]


def _descriptors(log: Log, events: Events, summed: Events) -> KernelCounts:
    counted, sums = events[~np.isin(events["result"], NOT_COUNTED)], summed[~np.isin(summed["error"], NOT_COUNTED)]
    moved = KernelCounts()
    for number in sorted({*counted["call"].tolist(), *sums["call"].tolist()} & set(log.calls)):
        call = log.calls[int(number)]
        of_call, of_sums = counted[counted["call"] == number], sums[sums["call"] == number]
        kind = ASYNCHRONOUS.get(call.name, call.group)
        amounts = of_call["bytes"] if call.name in ASYNCHRONOUS else of_call["result"]
        total, calls = int(amounts[of_call["result"] >= 0].sum()), len(of_call) + int(of_sums["calls"].sum())
        total += int(of_sums["bytes" if call.name in ASYNCHRONOUS else "moved"][of_sums["error"] == 0].sum())
        if call.name in UNCOUNTED:
            continue
        if kind == "read" or call.name in BOTH_WAYS:
            moved += KernelCounts(read_bytes=total, read_calls=calls)
        if kind == "write":
            moved += KernelCounts(written_bytes=total, write_calls=calls)
    return moved


def _streams(log: Log, events: Events, summed: Events) -> KernelCounts:
    moved = []
    for group in ("fill", "flush"):
        numbers = _numbers(log, [group])
        of_group, sums = events[np.isin(events["call"], numbers)], summed[np.isin(summed["call"], numbers)]
        if group == "fill":
            of_group, sums = of_group[of_group["descriptor"] >= 0], sums[sums["descriptor"] >= 0]
        moved.append(int(of_group["result"].sum()) + int(sums["moved"].sum()))
    return KernelCounts(read_bytes=moved[0], written_bytes=moved[1])


def _library(log: Log, events: Events) -> KernelCounts:
    """The reads of the C library from its own files: fills without a descriptor, less the calls that were recorded meanwhile."""
    moves = _numbers(log, READS)
    moved = KernelCounts()
    for fill in events[np.isin(events["call"], _numbers(log, ["fill"])) & (events["descriptor"] < 0)]:
        within = events[(events["begin_ns"] > fill["begin_ns"]) & (events["end_ns"] <= fill["end_ns"])]
        recorded = within[np.isin(within["call"], moves) & (within["descriptor"] >= 0) & (within["result"] >= 0)]
        moved += KernelCounts(int(fill["result"]) - int(recorded["result"].sum()), 0, max(0, int(fill["detail"]) - len(recorded)))
    return moved


def _unseen(log: Log, events: Events, kernel: KernelCounts | None, rest: KernelCounts) -> Iterator[Unseen]:
    """What is not in the log, and possible reasons where bytes are missing."""
    in_total = int(log.counters["calls"].sum()) < log.header["dropped_events"]
    if log.counted_text:
        yield Unseen(IN_TOTAL if in_total else COUNTED, log.counted_text)
    if kernel is None and log.ended:
        yield Unseen(
            "not readable", "the process could not read the kernel's counts at its end: it has another user or fewer rights"
        )
    elif kernel is None:
        yield Unseen(
            "killed", "the process was killed, replaced, or left by quick_exit(), so the kernel's counts at its end are not known"
        )
    mapped = events[np.isin(events["call"], _numbers(log, ["mmap"])) & (events["result"] >= 0)]
    shared = mapped[(mapped["detail"] >> np.uint64(32)).astype(bool)]
    sizes = {log.name_of(int(event["file"])): int(event["bytes"]) for event in shared}
    files = sorted((name for name in sizes if not name.startswith(SHARED_MEMORY)), key=lambda name: -sizes[name])
    if files:
        size, which = sum(sizes[name] for name in files), ", ".join([*files[:2], "..."][: len(files)])
        yield Unseen("mmap", f"{size} bytes of files are mapped as shared memory; accesses to it are not seen: {which}")
    for name in sorted(UNCOUNTED):
        moved = int(events[np.isin(events["call"], _numbers(log, [name])) & (events["result"] > 0)]["result"].sum())
        if moved:
            yield Unseen(name, f"{moved} bytes of {name}: in the log, but not in the kernel's counts")
    if (events[np.isin(events["call"], _numbers(log, ["io_uring_setup"]))]["result"] >= 0).any():
        yield Unseen(IO_URING, "the program uses io_uring; what it reads and writes that way is in no log")
    wide = events[np.isin(events["call"], _numbers(log, ["stdio_write", "stdio_read"])) & (events["result"] == 0)]
    if rest.bytes and not in_total:
        yield Unseen(REST, _likely_reason(log.header["program"], bool(len(wide)), len(np.unique(log.threads)) > 1))


@lru_cache(maxsize=256)
def _likely_reason(program: str, wide: bool, threads: bool) -> str:
    """Why the log and the kernel most likely differ in a process of this program."""
    try:
        findings = check(program).findings
    except (ValueError, RuntimeError, OSError):
        findings = ()
    gap = next((finding for finding in findings if finding.verdict >= Verdict.GAPS), None)
    if gap is not None:
        return f"{gap.where.name} has calls that are not recorded ({gap.full_text})"
    if wide:
        return "the bytes of streams of wide characters or of formatted input are not known"
    if threads:
        return "several threads use a stream at once, or children were not recorded"
    return "the C library moved them by itself, as messages or files that the tracer does not know"


def share_missing(found: Sequence[Coverage]) -> float:
    """The bytes that are missing or too many in a run, as a share of the kernel's bytes."""
    counted = sum(coverage.kernel.bytes for coverage in found if coverage.kernel is not None)
    return sum(coverage.rest.bytes + coverage.surplus.bytes for coverage in found) / max(1, counted)
