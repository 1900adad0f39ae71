"""The phases of a recorded run: the time and the I/O of its ranks, and how long ranks wait for the last one.

A phase is what the program marks (tailrace_phase_begin, MPI_Pcontrol). In a run without marks, a phase is what ranks do from one
collective of all ranks to the end of the next. phase_names.py names it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tailrace.trace.collectives import Collective, collectives_of
from tailrace.trace.intervals import Interval, intervals_between, marked_intervals
from tailrace.trace.log import Log
from tailrace.trace.phase_names import names_between
from tailrace.trace.ranks import Rank, full_logs, ranks_of, several_jobs, sum_between


@dataclass
class Phase:
    """Unless their name says otherwise, seconds are means over ranks, summed over all occurrences of the phase."""

    name: str
    times: int = 0  # occurrences, of the rank with most
    seconds: float = 0.0
    most_s: float = 0.0  # of the slowest rank
    slowest_rank: int = -1
    critical_s: float = 0.0  # until its last rank ended it, or arrived at its last collective
    io_s: float = 0.0
    wait_s: float = 0.0  # in collectives that the program makes
    read_bytes: int = 0  # of all ranks
    written_bytes: int = 0
    collectives: int = 0
    sync_s: float = 0.0  # first to last arrival, over all its collectives
    late_by_io_s: float = 0.0  # the part of sync_s that the I/O of the last rank explains
    last_ranks: dict[int, int] = field(default_factory=dict)  # how often each rank arrived last


@dataclass(frozen=True)
class Phases:
    phases: list[Phase]
    ranks: int
    unmatched: list[str]  # messages about what cannot be compared

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def phases_of(logs: Sequence[Log]) -> Phases:
    """The phases of a run, in the order of their first occurrence."""
    ranks = ranks_of(logs)
    collectives, unmatched = collectives_of(ranks)
    # RATIONALE: collectives within MPI-IO, HDF5 or netCDF belong to a call on a file, which the program sees as one.
    of_all = [collective for collective in collectives if collective.is_own and len(collective.ranks) == len(ranks)]
    phases: dict[str, Phase] = {}
    marked = [marked_intervals(rank) for rank in ranks]
    names = names_between(of_all, ranks) if not all(marked) else []
    intervals = [of_rank or intervals_between(of_all, rank, names) for rank, of_rank in zip(ranks, marked, strict=True)]
    for rank, of_rank in zip(ranks, intervals, strict=True):
        _add_rank(phases, rank, of_rank, len(ranks))
    _add_critical(phases, ranks, intervals, of_all)
    index_of = {rank.number: index for index, rank in enumerate(ranks)}
    for collective in collectives:
        _add_collective(phases, collective, intervals[index_of[collective.ranks[0]]], len(ranks))
    return Phases(list(phases.values()), len(ranks), several_jobs(logs) + unmatched + full_logs(ranks))


def _add_rank(phases: dict[str, Phase], rank: Rank, intervals: Sequence[Interval], ranks: int) -> None:
    seconds: dict[str, float] = {}
    read, written = rank.moved("read", "fill"), rank.moved("write", "flush")
    begins, ends = (np.array([interval[at] for interval in intervals], float) for at in (1, 2))
    io_s = rank.io.between(begins, ends) / ranks
    moved = [sum_between(each, begins, ends) for each in (read, written)]
    for k, (name, begin, end, occurrence) in enumerate(intervals):
        phase = phases.setdefault(name, Phase(name))
        seconds[name] = seconds.get(name, 0.0) + end - begin
        phase.times = max(phase.times, occurrence)
        phase.io_s += float(io_s[k])
        phase.read_bytes += int(moved[0][k])
        phase.written_bytes += int(moved[1][k])
    for name, of_rank in seconds.items():
        phase = phases[name]
        phase.seconds += of_rank / ranks
        if of_rank > phase.most_s:
            phase.most_s, phase.slowest_rank = of_rank, rank.number


def _add_critical(
    phases: dict[str, Phase], ranks: Sequence[Rank], intervals: Sequence[Sequence[Interval]], of_all: Sequence[Collective]
) -> None:
    """Sums critical_s. Ranks meet in the last collective of a phase: there the arrival of a rank counts, not its departure."""
    seconds: dict[tuple[str, int], list[float]] = {}  # of an occurrence of a phase, for each rank
    meetings: dict[tuple[str, int], float] = {}  # sync time of its last collective
    for rank, of_phases in zip(ranks, intervals, strict=True):
        places = [collective.ranks.index(rank.number) for collective in of_all]
        arrivals = np.array([collective.arrivals[place] for collective, place in zip(of_all, places, strict=True)])
        of_rank: dict[tuple[str, int], float] = {}
        waits: dict[tuple[str, int], float] = {}  # in the last collective of its last interval
        for name, begin, end, occurrence in of_phases:
            key = name, occurrence
            of_rank[key] = of_rank.get(key, 0.0) + end - begin
            last = int(np.searchsorted(arrivals, end)) - 1
            if last >= 0 and arrivals[last] >= begin and of_all[last].departures[places[last]] <= end:
                waits[key] = float(of_all[last].waits[places[last]])
                meetings[key] = of_all[last].sync_s
        for key, sum_s in of_rank.items():
            seconds.setdefault(key, []).append(sum_s - waits.get(key, 0.0))
    for key, of_ranks in seconds.items():
        phases[key[0]].critical_s += max(max(of_ranks), min(of_ranks) + meetings.get(key, 0.0))


def _add_collective(phases: dict[str, Phase], collective: Collective, intervals: Sequence[Interval], ranks: int) -> None:
    """A collective belongs to the phase in which its first rank arrived; `intervals` are those of this rank."""
    arrival = float(collective.arrivals[0])
    index = bisect_right(intervals, arrival, key=lambda interval: interval.begin) - 1
    if index < 0 or arrival >= intervals[index].end:
        return
    phase = phases[intervals[index].phase]
    phase.collectives += 1
    phase.sync_s += collective.sync_s
    phase.wait_s += float(collective.waits.sum()) / ranks if collective.is_own else 0.0
    phase.late_by_io_s += collective.late_by_io_s
    last = collective.ranks[collective.last]
    phase.last_ranks[last] = phase.last_ranks.get(last, 0) + 1
