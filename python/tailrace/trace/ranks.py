"""The ranks of a recorded run: one log of each, with the times of its events in seconds since the run began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.trace.clock import Clock, clock_of
from tailrace.trace.log import BUDGET_SPENT_TEXT, Log

WITHIN = 0xFF  # the flags of an event that a call of another library has made
NO_IO = {"collective", "mpi", "phase", "process", "map"}  # groups of calls that are no I/O

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Rank:
    log: Log
    clock: Clock
    number: int

    def seconds(self, nanoseconds: Array) -> Array:
        return np.asarray(self.clock.since_begin(self.log.header["host"], nanoseconds) / 1e9)

    @cached_property
    def groups(self) -> Array:
        """The group of the call of each event."""
        names = np.full(1 << 16, "", dtype=object)
        for call in self.log.calls.values():
            names[call.number] = call.group
        return np.asarray(names[self.log.events["call"]])

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
    def io(self) -> tuple[Array, Array]:
        """The times at which the program's own I/O calls began, and their cumulative seconds. Threads count each for itself."""
        chosen = ~np.isin(self.groups, list(NO_IO)) & (self.log.events["flags"] & WITHIN == 0)
        return self.begins[chosen], np.concatenate(([0.0], np.cumsum((self.ends - self.begins)[chosen])))

    def moved(self, *groups: str) -> tuple[Array, Array]:
        """The same for the bytes that calls of these groups have moved, whether the program or a library made them."""
        results = self.log.events["result"]
        chosen = np.isin(self.groups, groups) & (results > 0)
        return self.begins[chosen], np.concatenate(([0], np.cumsum(results[chosen])))


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
    """A message for each rank whose log is full: its later calls are in no phase."""
    dropped = {rank.number: int(rank.log.header["dropped_events"]) for rank in ranks}
    return [f"rank {number}: {count} {BUDGET_SPENT_TEXT}" for number, count in dropped.items() if count]


def marks_phases(log: Log) -> bool:
    numbers = [number for number, call in log.calls.items() if call.name == "phase_begin"]
    return bool(np.isin(log.events["call"], numbers).any())


def weight(log: Log) -> tuple[int, int]:
    """The number of its MPI calls, and of all its calls."""
    of_mpi = [number for number, call in log.calls.items() if call.name.startswith("MPI_")]
    return int(np.isin(log.events["call"], of_mpi).sum()), len(log.events)
