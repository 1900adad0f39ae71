"""The intervals of each rank that belong to the phases of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tailrace.trace.collectives import Collective
from tailrace.trace.ranks import Rank


class Interval(NamedTuple):
    phase: str
    begin: float  # s
    end: float
    occurrence: int  # of its phase, on this rank; a phase that another one interrupts has several intervals


def marked_intervals(rank: Rank) -> list[Interval]:
    """Phases that the program marks. Time within an inner phase is the inner one's alone."""
    found: list[Interval] = []
    occurrences: Counter[str] = Counter()
    open_phases: list[tuple[str, int]] = []
    since = 0.0

    def begin_phase(name: str) -> tuple[str, int]:
        occurrences[name] += 1
        return name, occurrences[name]

    def interval_until(end: float) -> Interval:
        name, occurrence = open_phases[-1]
        return Interval(name, since, end, occurrence)

    for index in np.flatnonzero(rank.is_in(rank.log.events, ("phase",))):
        event = rank.log.events[index]
        call = rank.log.calls[int(event["call"])].name
        now = float(rank.begins[index])
        if open_phases:
            found.append(interval_until(now))
        since = now
        if call == "phase_begin":
            open_phases.append(begin_phase(rank.log.name_of(int(event["file"]))))
        elif call == "phase_end":
            open_phases[-1:] = []
        else:  # MPI_Pcontrol
            level = int(event["offset"])
            open_phases = [begin_phase(f"level {level}")] if level > 0 else []
    if open_phases:
        found.append(interval_until(float(rank.ends.max())))
    return found


def intervals_between(collectives: Sequence[Collective], rank: Rank, names: Sequence[str]) -> list[Interval]:
    """Up to the end of MPI_Init, from one collective of all ranks to the end of the next, and to the end of the program. There is
    one more name than there are collectives."""
    occurrences: Counter[str] = Counter()
    found = [Interval("to MPI_Init", 0.0, rank.left_init_s, 1)]
    for collective, name in zip(collectives, names, strict=False):
        index = collective.ranks.index(rank.number)
        occurrences[name] += 1
        found.append(Interval(name, found[-1].end, float(collective.departures[index]), occurrences[name]))
    if len(rank.ends):
        found.append(Interval(names[-1], found[-1].end, float(rank.ends.max()), occurrences[names[-1]] + 1))
    return found
