"""Where the ranks of a recorded run spend their time: phases, and how long ranks wait for the last one.

A phase is what the program says (tailrace_phase_begin, MPI_Pcontrol); in a run that says nothing, it is what ranks do from one
collective of all ranks to the next, and its name is where in the program the second one is called.

What a collective costs is the time from the first rank's arrival to the last's. Ranks of one host share its clock, so their
arrivals say it. Ranks of several hosts leave a collective that all wait in at nearly the same time, so there it is the longest wait
less the shortest, and the last to arrive is who waits least. (On one host that is the worse way: with more ranks than cores they do
not leave together.) Of rooted collectives (Bcast, Reduce, Gather, Scatter, scans), in which not all ranks wait, the hosts' clocks
tell who came last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tailrace.trace.clock import Clock, clock_of
from tailrace.trace.log import BUDGET_SPENT, Log
from tailrace.trace.sites import site_texts

ROOTED = {f"MPI_{name}" for name in ("Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv", "Scan", "Exscan")}
RANKS = "MPI ranks "
WITHIN = 0xFF  # flags of an event that another library's call has made
NO_IO = {"collective", "mpi", "phase", "process", "map"}

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Rank:
    """The events of one rank; times are seconds since the run began."""

    log: Log
    clock: Clock
    number: int

    def seconds(self, nanoseconds: Array) -> Array:
        return np.asarray(self.clock.since_begin(self.log.header["host"], nanoseconds) / 1e9)

    @cached_property
    def groups(self) -> Array:
        """Of each event, the group of its call."""
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
    def started(self) -> float:
        """When it left MPI_Init."""
        begun = [number for number, call in self.log.calls.items() if call.name in ("MPI_Init", "MPI_Init_thread")]
        ends = self.ends[np.isin(self.log.events["call"], begun)]
        return float(ends[0]) if len(ends) else 0.0

    @cached_property
    def io(self) -> tuple[Array, Array]:
        """When the program's own calls of I/O began, and the sum of their time up to each; threads count each for itself."""
        chosen = ~np.isin(self.groups, list(NO_IO)) & (self.log.events["flags"] & WITHIN == 0)
        return self.begins[chosen], np.concatenate(([0.0], np.cumsum((self.ends - self.begins)[chosen])))

    def moved(self, *groups: str) -> tuple[Array, Array]:
        """The same of the bytes that calls of these groups have moved, whoever has made them."""
        results = self.log.events["result"]
        chosen = np.isin(self.groups, groups) & (results > 0)
        return self.begins[chosen], np.concatenate(([0], np.cumsum(results[chosen])))


def sum_in(of: tuple[Array, Array], begin: Array | float, end: Array | float) -> Array:
    """Sums of what has begun in intervals."""
    begins, sums = of
    return np.asarray(sums[np.searchsorted(begins, end)] - sums[np.searchsorted(begins, begin)])


@dataclass(frozen=True)
class Collective:
    """One collective, as its ranks met in it."""

    call: str
    ranks: tuple[int, ...]
    one_clock: bool  # all of them are on one host
    site: str  # where in the program, of its first rank
    arrivals: Array  # s, of each of the ranks
    departures: Array
    io_before: Array  # s of I/O of each rank since the collective before
    begun: Array  # when that was left

    @property
    def waits(self) -> Array:
        return self.departures - self.arrivals

    @property
    def sync_s(self) -> float:
        """How long ranks waited for the last of them."""
        return float(np.ptp(self.arrivals if self.one_clock else self.waits))

    @property
    def last(self) -> int:
        """The index of the rank that came last."""
        return int(np.argmax(self.arrivals) if self.one_clock or self.call in ROOTED else np.argmin(self.waits))

    @property
    def late_by_io_s(self) -> float:
        """How much more I/O the last rank had to do than the middle one: so much of the sync time is I/O's."""
        more = float(self.io_before[self.last] - np.median(self.io_before))
        return min(max(more, 0.0), self.sync_s)


@dataclass
class Phase:
    """Seconds are means over ranks, sums over all times that the phase came, unless their name says otherwise."""

    name: str
    times: int = 0  # of the rank with most
    seconds: float = 0.0
    most_s: float = 0.0  # of the slowest rank
    slowest_rank: int = -1
    critical_s: float = 0.0  # until its last rank was done, or came to its last collective
    io_s: float = 0.0
    read_bytes: int = 0  # of all ranks
    written_bytes: int = 0
    collectives: int = 0
    sync_s: float = 0.0  # first to last arrival, of all its collectives
    late_by_io_s: float = 0.0  # the part of that which the last rank's I/O explains
    last_ranks: dict[int, int] = field(default_factory=dict)  # how often each rank came last


@dataclass(frozen=True)
class Phases:
    phases: list[Phase]
    ranks: int
    unmatched: list[str]  # what cannot be compared, and why

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ranks_of(logs: Sequence[Log]) -> list[Rank]:
    """One log of each rank: where a rank was several programs, that which called MPI, or did most. In a run without ranks, a
    program that names phases is its only rank."""
    clock = clock_of([log.header for log in logs])
    has_ranks = any(int(log.header["rank"]) >= 0 for log in logs)
    best: dict[int, Log] = {}
    for log in logs:
        rank = int(log.header["rank"]) if has_ranks else 0 if names_phases(log) else -1
        if rank >= 0 and (rank not in best or weight(log) > weight(best[rank])):
            best[rank] = log
    return [Rank(best[rank], clock, rank) for rank in sorted(best)]


def several_jobs(logs: Sequence[Log]) -> list[str]:
    """Ranks of which several programs called MPI: those of one job would be compared with another's."""
    programs = Counter(int(log.header["rank"]) for log in logs if int(log.header["rank"]) >= 0 and weight(log)[0] > 0)
    return [
        f"rank {rank}: {count} programs called MPI, and one of them is shown: record each job with a --log of its own"
        for rank, count in sorted(programs.items())
        if count > 1
    ]


def names_phases(log: Log) -> bool:
    begins = [number for number, call in log.calls.items() if call.name == "phase_begin"]
    return bool(np.isin(log.events["call"], begins).any())


def weight(log: Log) -> tuple[int, int]:
    of_mpi = [number for number, call in log.calls.items() if call.name.startswith("MPI_")]
    return int(np.isin(log.events["call"], of_mpi).sum()), len(log.events)


def members_of(name: str) -> tuple[int, ...] | None:
    """Of "MPI ranks 0-3,8"; None where the name is another or the ranks are too many to be named."""
    if not name.startswith(RANKS):
        return None
    members: list[int] = []
    for piece in name.removeprefix(RANKS).split(","):
        first, _, last = piece.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) - int(first) > 1 << 24:
            return None
        members.extend(range(int(first), int(last or first) + 1))
    return tuple(members)


def collectives_of(ranks: Sequence[Rank]) -> tuple[list[Collective], list[str]]:
    """Matched by their order within each group of ranks, and what could not be matched."""
    chosen: dict[str, dict[int, Array]] = {}
    for rank in ranks:
        of_rank = np.flatnonzero(rank.groups == "collective")
        files = rank.log.events["file"][of_rank]
        for file in np.unique(files):
            chosen.setdefault(rank.log.name_of(int(file)), {})[rank.number] = of_rank[files == file]
    found: list[Collective] = []
    unmatched: list[str] = []
    by_number = {rank.number: rank for rank in ranks}
    for name, events in chosen.items():
        members = members_of(name)
        if members is None or not all(member in events for member in members):
            unmatched.append(f"{name or 'an unknown group of ranks'}: not all of its ranks have a log")
            continue
        counts = [len(events[member]) for member in members]
        if len(set(counts)) > 1:
            unmatched.append(f"{name}: {max(counts) - min(counts)} collectives at the end are not in the logs of all its ranks")
        found.extend(match([by_number[member] for member in members], [events[member] for member in members], min(counts)))
    return chained(sorted(found, key=lambda collective: float(collective.departures.min())), ranks), unmatched


def chained(collectives: list[Collective], ranks: Sequence[Rank]) -> list[Collective]:
    """Groups of all ranks in different orders are one: a collective begins where that before was left, whichever group's it is."""
    if len({collective.ranks for collective in collectives if len(collective.ranks) == len(ranks)}) < 2:
        return collectives
    by_number = {rank.number: rank for rank in ranks}
    left = {rank.number: rank.started for rank in ranks}
    made = []
    for collective in collectives:
        if len(collective.ranks) == len(ranks):
            begun = np.array([left[number] for number in collective.ranks])
            came = zip(collective.ranks, begun, collective.arrivals, strict=True)
            io_before = np.array([sum_in(by_number[number].io, begin, arrival) for number, begin, arrival in came])
            left.update(zip(collective.ranks, map(float, collective.departures), strict=True))
            collective = replace(collective, begun=begun, io_before=io_before)
        made.append(collective)
    return made


def match(ranks: Sequence[Rank], events: Sequence[Array], count: int) -> Iterator[Collective]:
    if count == 0:
        return
    arrivals = np.stack([rank.begins[chosen[:count]] for rank, chosen in zip(ranks, events, strict=True)])
    departures = np.stack([rank.ends[chosen[:count]] for rank, chosen in zip(ranks, events, strict=True)])
    started = np.array([[rank.started] for rank in ranks])
    before = np.concatenate((started, departures[:, :-1]), axis=1)
    io_before = np.stack([sum_in(rank.io, before[r], arrivals[r]) for r, rank in enumerate(ranks)])
    log = ranks[0].log
    numbers = tuple(rank.number for rank in ranks)
    one_clock = len({rank.log.header["host"] for rank in ranks}) == 1
    for k, event in enumerate(log.events[events[0][:count]]):
        call = log.calls[int(event["call"])].name
        columns = (arrivals[:, k], departures[:, k], io_before[:, k], before[:, k])
        yield Collective(call, numbers, one_clock, log.name_of(int(event["detail"])), *columns)


def phases_of(logs: Sequence[Log]) -> Phases:
    """The phases of a run, in the order in which they come first."""
    ranks = ranks_of(logs)
    collectives, unmatched = collectives_of(ranks)
    of_all = [collective for collective in collectives if len(collective.ranks) == len(ranks)]
    texts = site_texts({collective.site for collective in of_all})
    phases: dict[str, Phase] = {}
    intervals = [named_intervals(rank) or between(of_all, rank, texts) for rank in ranks]
    for rank, mine in zip(ranks, intervals, strict=True):
        add_rank(phases, rank, mine, len(ranks))
    add_critical(phases, ranks, intervals, of_all)
    if ranks:
        for collective in collectives:
            add_collective(phases, collective, intervals[ranks_index(ranks, collective.ranks[0])])
    return Phases(list(phases.values()), len(ranks), several_jobs(logs) + unmatched + dropped_of(ranks))


def dropped_of(ranks: Sequence[Rank]) -> list[str]:
    """Ranks whose log is full: what came later is in no phase."""
    dropped = {rank.number: int(rank.log.header["dropped_events"]) for rank in ranks}
    return [f"rank {number}: {count} {BUDGET_SPENT}" for number, count in dropped.items() if count]


def ranks_index(ranks: Sequence[Rank], number: int) -> int:
    return next(index for index, rank in enumerate(ranks) if rank.number == number)


class Interval(NamedTuple):
    phase: str
    begin: float  # s
    end: float
    time: int  # which time of its phase, on this rank: one that another phase interrupts has several intervals


def named_intervals(rank: Rank) -> list[Interval]:
    """Phases that the program names; what lies within another phase is that of the inner one alone."""
    found: list[Interval] = []
    times: Counter[str] = Counter()
    open_phases: list[tuple[str, int]] = []
    since = 0.0

    def again(name: str) -> tuple[str, int]:
        times[name] += 1
        return name, times[name]

    def interval(end: float) -> Interval:
        name, time = open_phases[-1]
        return Interval(name, since, end, time)

    for index in np.flatnonzero(rank.groups == "phase"):
        event = rank.log.events[index]
        call = rank.log.calls[int(event["call"])].name
        now = float(rank.begins[index])
        if open_phases:
            found.append(interval(now))
        since = now
        if call == "phase_begin":
            open_phases.append(again(rank.log.name_of(int(event["file"]))))
        elif call == "phase_end":
            open_phases[-1:] = []
        else:
            level = int(event["offset"])
            open_phases = [again(f"level {level}")] if level > 0 else []
    if open_phases:
        found.append(interval(float(rank.ends.max())))
    return found


def between(collectives: Sequence[Collective], rank: Rank, texts: dict[str, str]) -> list[Interval]:
    """To the end of MPI_Init, from one collective of all ranks to the end of the next, and to the end of the program."""
    place = rank.number
    times: Counter[str] = Counter()
    found = [Interval("to MPI_Init", 0.0, rank.started, 1)]
    for collective in collectives:
        index = collective.ranks.index(place)
        name = f"{collective.call} {texts[collective.site]}"
        times[name] += 1
        found.append(Interval(name, float(collective.begun[index]), float(collective.departures[index]), times[name]))
    if len(rank.ends):
        found.append(Interval("to the end", found[-1].end, float(rank.ends.max()), 1))
    return found


def add_rank(phases: dict[str, Phase], rank: Rank, intervals: Sequence[Interval], ranks: int) -> None:
    seconds: dict[str, float] = {}
    read, written = rank.moved("read", "fill"), rank.moved("write", "flush")
    for name, begin, end, time in intervals:
        phase = phases.setdefault(name, Phase(name))
        seconds[name] = seconds.get(name, 0.0) + end - begin
        phase.times = max(phase.times, time)
        phase.io_s += float(sum_in(rank.io, begin, end)) / ranks
        phase.read_bytes += int(sum_in(read, begin, end))
        phase.written_bytes += int(sum_in(written, begin, end))
    for name, of_rank in seconds.items():
        phase = phases[name]
        phase.seconds += of_rank / ranks
        if of_rank > phase.most_s:
            phase.most_s, phase.slowest_rank = of_rank, rank.number


def add_critical(
    phases: dict[str, Phase], ranks: Sequence[Rank], intervals: Sequence[Sequence[Interval]], of_all: Sequence[Collective]
) -> None:
    """The last collective of a phase is where its ranks meet: what counts is when they come there, and not when they are let go."""
    seconds: dict[tuple[str, int], list[float]] = {}
    meetings: dict[tuple[str, int], float] = {}
    for rank, mine in zip(ranks, intervals, strict=True):
        places = [collective.ranks.index(rank.number) for collective in of_all]
        comings = np.array([collective.arrivals[place] for collective, place in zip(of_all, places, strict=True)])
        of_rank: dict[tuple[str, int], float] = {}
        waits: dict[tuple[str, int], float] = {}  # in the last collective of all pieces
        for name, begin, end, time in mine:
            key = name, time
            of_rank[key] = of_rank.get(key, 0.0) + end - begin
            last = int(np.searchsorted(comings, end)) - 1
            if last >= 0 and comings[last] >= begin and of_all[last].departures[places[last]] <= end:
                waits[key] = float(of_all[last].waits[places[last]])
                meetings[key] = of_all[last].sync_s
        for key, sum_s in of_rank.items():
            seconds.setdefault(key, []).append(sum_s - waits.get(key, 0.0))
    for key, of_ranks in seconds.items():
        phases[key[0]].critical_s += max(max(of_ranks), min(of_ranks) + meetings.get(key, 0.0))


def add_collective(phases: dict[str, Phase], collective: Collective, intervals: Sequence[Interval]) -> None:
    """It belongs to the phase in which its first rank came to it."""
    at = float(collective.arrivals[0])
    index = bisect_right(intervals, at, key=lambda interval: interval.begin) - 1
    if index < 0 or at >= intervals[index].end:
        return
    phase = phases[intervals[index].phase]
    phase.collectives += 1
    phase.sync_s += collective.sync_s
    phase.late_by_io_s += collective.late_by_io_s
    last = collective.ranks[collective.last]
    phase.last_ranks[last] = phase.last_ranks.get(last, 0) + 1
