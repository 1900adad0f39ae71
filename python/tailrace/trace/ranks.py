"""The ranks of a recorded run: one log of each, with the times of its events in seconds since the run began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.trace.clock import Clock, clock_of
from tailrace.trace.log import Log

WITHIN = 0xFF  # the flags of an event that a call of another library has made
NO_IO = {"collective", "mpi", "phase", "process", "map"}  # groups of calls that are no I/O
# Beginnings of names that are no files on a file system: sockets and pipes, devices, the kernel's own.
NO_FILES = ("socket:", "pipe:", "anon_inode:", "/proc/", "/sys/", "/dev/")
FILES_BELOW_NO_FILES = ("/dev/shm/",)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Rank:
    log: Log
    clock: Clock
    number: int

    def seconds(self, nanoseconds: Array) -> Array:
        return np.asarray(self.clock.since_begin(self.log.header["host"], nanoseconds) / 1e9)

    def is_in(self, calls: Array, groups: Collection[str]) -> Array:
        """Whether the call of each event, or of each record of merged calls, is in one of these groups."""
        numbers = [call.number for call in self.log.calls.values() if call.group in groups]
        is_one = np.zeros(1 << 16, bool)
        is_one[numbers] = True
        return np.asarray(is_one[calls["call"]])

    @cached_property
    def begins(self) -> Array:
        return self.seconds(self.log.events["begin_ns"])

    @cached_property
    def ends(self) -> Array:
        return self.seconds(self.log.events["end_ns"])

    @cached_property
    def left_init_s(self) -> float:
        """When the rank left MPI_Init; 0 where it never called it."""
        numbers = [number for number, call in self.log.calls.items() if call.name in ("MPI_Init", "MPI_Init_thread")]
        ends = self.ends[np.isin(self.log.events["call"], numbers)]
        return float(ends[0]) if len(ends) else 0.0

    @cached_property
    def on_files(self) -> Array:
        """Which events are no calls on a socket, a pipe, a device, /proc or /sys."""
        return self._on_files(self.log.events)

    def _on_files(self, calls: Array) -> Array:
        return np.asarray(~np.isin(calls["file"], self._no_files))

    @cached_property
    def _no_files(self) -> Array:
        """The numbers of these names."""
        return np.array([number for number, name in self.log.names.items() if is_no_file(name)], np.uint64)

    @cached_property
    def own_io(self) -> Array:
        """Which events are the program's own I/O calls."""
        return self._own_io(self.log.events)

    def _own_io(self, calls: Array) -> Array:
        return np.asarray(~self.is_in(calls, NO_IO) & (calls["flags"] & WITHIN == 0) & self._on_files(calls))

    @cached_property
    def io(self) -> TimeInCalls:
        """The time in the program's own I/O calls. Threads count each for itself. Merged calls count from the first of them on."""
        merged = self.log.merged[self._own_io(self.log.merged)]
        begins = self.seconds(merged["begin_ns"])
        return TimeInCalls.of(
            np.concatenate((self.begins[self.own_io], begins)),
            np.concatenate((self.ends[self.own_io], begins + merged["busy_ns"] / 1e9)),
        )

    def moved(self, *groups: str) -> tuple[Array, Array]:
        """When calls of these groups began, and the cumulative bytes that they have moved, whether the program or a library made
        them. Merged calls count at the first of them."""
        results, merged = self.log.events["result"], self.log.merged
        chosen = self.is_in(self.log.events, groups) & (results > 0) & self.on_files
        too = self.is_in(merged, groups) & (merged["moved"] > 0) & self._on_files(merged)
        begins = np.concatenate((self.begins[chosen], self.seconds(merged["begin_ns"][too])))
        order = np.argsort(begins, kind="stable")
        moved = np.concatenate((results[chosen], merged["moved"][too]))[order]
        return begins[order], np.concatenate(([0], np.cumsum(moved)))


@dataclass(frozen=True)
class TimeInCalls:
    """Calls may overlap, and an interval may begin or end within one."""

    begins: Array  # ns, sorted
    ends: Array  # ns, sorted, each for itself
    sums_of_begins: Array  # RATIONALE: modulo 2**64, as what is computed from them. So times of ten million calls are exact.
    sums_of_ends: Array

    @classmethod
    def of(cls, begins: Array, ends: Array) -> TimeInCalls:
        """Times in seconds."""
        sorted_ns = [np.sort(_nanoseconds(each)) for each in (begins, ends)]
        return cls(*sorted_ns, *(np.append(np.zeros(1, np.int64), np.cumsum(each)) for each in sorted_ns))

    def until(self, moment: Array | float) -> Array:
        """Seconds in calls before a moment."""
        moments = _nanoseconds(np.atleast_1d(moment))
        begun, ended = np.searchsorted(self.begins, moments), np.searchsorted(self.ends, moments)
        found = (begun - ended) * moments - self.sums_of_begins[begun] + self.sums_of_ends[ended]
        return (found / 1e9).reshape(np.shape(moment))

    def between(self, begin: Array | float, end: Array | float) -> Array:
        return np.asarray(np.maximum(self.until(end) - self.until(begin), 0.0), np.float64)


def _nanoseconds(seconds: Array) -> Array:
    """Seconds as whole ns, limited to 64 bits: times of damaged logs may have any value."""
    most = 9e18
    return np.rint(np.clip(np.nan_to_num(seconds) * 1e9, -most, most)).astype(np.int64)


def is_no_file(name: str) -> bool:
    return name.startswith(NO_FILES) and not name.startswith(FILES_BELOW_NO_FILES)


def sum_between(cumulative: tuple[Array, Array], begin: Array | float, end: Array | float) -> Array:
    """The sum over what began in each interval, from times and cumulative sums."""
    begins, sums = cumulative
    return np.asarray(sums[np.searchsorted(begins, end)] - sums[np.searchsorted(begins, begin)])


def ranks_of(logs: Sequence[Log]) -> list[Rank]:
    """One log of each rank. Where a rank was several programs: the one that called MPI, or has most events. In a run without ranks,
    a program that marks phases is its only rank."""
    clock = clock_of([log.header for log in logs])
    has_ranks = any(int(log.header["rank"]) >= 0 for log in logs)
    best: dict[int, Log] = {}
    for log in logs:
        rank = int(log.header["rank"]) if has_ranks else 0 if marks_phases(log) else -1
        if rank >= 0 and (rank not in best or weight(log) > weight(best[rank])):
            best[rank] = log
    return [Rank(best[rank], clock, rank) for rank in sorted(best)]


def several_jobs(logs: Sequence[Log]) -> list[str]:
    """A message for each rank of which several programs called MPI: the ranks of one job would be compared with another job's."""
    programs = Counter(int(log.header["rank"]) for log in logs if int(log.header["rank"]) >= 0 and weight(log)[0] > 0)
    return [
        f"rank {rank}: {count} programs called MPI, and one of them is shown: record each job with a --log of its own"
        for rank, count in sorted(programs.items())
        if count > 1
    ]


def full_logs(ranks: Sequence[Rank]) -> list[str]:
    """A message for each rank whose log is full, whose later calls are in no phase, and for each that has merged calls."""
    found = [f"rank {rank.number}: {rank.log.counted_text}" for rank in ranks if rank.log.counted_text]
    for rank in ranks:
        merged = rank.log.merged
        if len(merged):
            longest = float((merged["last_ns"] - merged["begin_ns"]).max()) / 1e9
            count = int(merged["calls"].sum())
            found.append(
                f"rank {rank.number}: {count} like calls are merged into sums over up to {longest:.2g} s, "
                "and count in the phase of the first of them; `run --budget` keeps more of them apart"
            )
    return found


def marks_phases(log: Log) -> bool:
    numbers = [number for number, call in log.calls.items() if call.name == "phase_begin"]
    return bool(np.isin(log.events["call"], numbers).any())


def weight(log: Log) -> tuple[int, int]:
    """The number of MPI calls among a log's events, and the number of all its events."""
    of_mpi = [number for number, call in log.calls.items() if call.name.startswith("MPI_")]
    return int(np.isin(log.events["call"], of_mpi).sum()), len(log.events)
