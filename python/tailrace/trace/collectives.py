"""The collectives of a recorded run, each matched over its ranks, and how long ranks waited in them.

The cost of a collective is its sync time: from the arrival of the first rank to that of the last.

- Ranks of one host share its clock, so their arrival times can be compared.
- Ranks of several hosts do not. They leave a collective in which all wait at nearly the same time. So the sync time is the longest
  wait less the shortest, and the last rank is the one that waits least. On one host this is the worse way: with more ranks than
  cores, ranks do not leave together.
- In rooted collectives (Bcast, Reduce, Gather, Scatter, scans) not all ranks wait. There the clocks of the hosts decide which rank
  was last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailrace.trace.ranks import WITHIN, Array, Rank

ROOTED = {f"MPI_{name}" for name in ("Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv", "Scan", "Exscan")}
GROUP_PREFIX = "MPI ranks "  # of the name of a group of ranks
MOST_RANKS = 1 << 24


@dataclass(frozen=True)
class Collective:
    call: str
    ranks: tuple[int, ...]
    is_on_one_host: bool
    site: str  # the place in the program, of its first rank
    is_own: bool  # made by the program, not by a library for its files
    arrivals: Array  # s, of each rank
    departures: Array  # s
    io_before: Array  # s of I/O of each rank since it left the collective before
    begun: Array  # s: when each rank left the collective before

    @property
    def waits(self) -> Array:
        return self.departures - self.arrivals

    @property
    def sync_s(self) -> float:
        return float(np.ptp(self.arrivals if self.is_on_one_host else self.waits))

    @property
    def last(self) -> int:
        """The index of the rank that arrived last."""
        by_arrival = self.is_on_one_host or self.call in ROOTED
        return int(np.argmax(self.arrivals) if by_arrival else np.argmin(self.waits))

    @property
    def first(self) -> int:
        """The index of the rank that arrived first."""
        by_arrival = self.is_on_one_host or self.call in ROOTED
        return int(np.argmin(self.arrivals) if by_arrival else np.argmax(self.waits))

    @property
    def late_by_io_s(self) -> float:
        """The part of the sync time that I/O explains: how much more I/O the last rank did than the first."""
        more = float(self.io_before[self.last] - self.io_before[self.first])
        return min(max(more, 0.0), self.sync_s)


def collectives_of(ranks: Sequence[Rank]) -> tuple[list[Collective], list[str]]:
    """The collectives in the order of their ends, matched by their order within each group of ranks; and messages about those
    that could not be matched."""
    by_group: dict[str, dict[int, Array]] = {}  # name of the group -> rank -> indices of events
    for rank in ranks:
        of_rank = np.flatnonzero(rank.is_in(rank.log.events, ("collective",)))
        groups = rank.log.events["file"][of_rank]
        for group in np.unique(groups):
            by_group.setdefault(rank.log.name_of(int(group)), {})[rank.number] = of_rank[groups == group]
    unmerged = {rank.number: _before_merging(rank) for rank in ranks}
    found: list[Collective] = []
    unmatched: list[str] = []
    by_number = {rank.number: rank for rank in ranks}
    for name, events in by_group.items():
        members = members_of(name)
        if members is None or not all(member in events for member in members):
            unmatched.append(f"{name or 'an unknown group of ranks'}: not all of its ranks have a log")
            continue
        for member in members:
            if name in unmerged[member]:
                events[member] = events[member][: np.searchsorted(events[member], unmerged[member][name])]
        counts = [len(events[member]) for member in members]
        if any(name in unmerged[member] for member in members):
            unmatched.append(
                f"{name}: later collectives are merged into sums, so they end no phase; `run --budget` keeps more apart"
            )
        elif len(set(counts)) > 1:
            unmatched.append(f"{name}: {max(counts) - min(counts)} collectives at the end are not in the logs of all its ranks")
        found.extend(_match([by_number[member] for member in members], [events[member] for member in members], min(counts)))
    return _chained(sorted(found, key=lambda collective: float(collective.departures.min())), ranks), unmatched


def _before_merging(rank: Rank) -> dict[str, int]:
    """By the name of a group: how many events the rank's log has before the first collective of that group that is merged with
    others. From there on, collectives cannot be matched by their order."""
    merged = rank.log.merged[rank.is_in(rank.log.merged, ("collective",))]
    files, first = np.unique(merged["file"], return_index=True)  # records are in the order of their beginnings
    begins = merged["begin_ns"][first]
    places = np.searchsorted(rank.log.events["begin_ns"], begins)
    return {rank.log.name_of(int(file)): int(place) for file, place in zip(files, places, strict=True)}


def members_of(group: str) -> tuple[int, ...] | None:
    """The ranks in a name such as "MPI ranks 0-3,8". None for another name, and where the name has only the number of ranks."""
    if not group.startswith(GROUP_PREFIX):
        return None
    members: list[int] = []
    for interval in group.removeprefix(GROUP_PREFIX).split(","):
        first, _, last = interval.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) - int(first) > MOST_RANKS:
            return None
        members.extend(range(int(first), int(last or first) + 1))
    return tuple(members)


def _match(ranks: Sequence[Rank], events: Sequence[Array], count: int) -> Iterator[Collective]:
    """The first `count` collectives of a group; `events` are the indices of each rank."""
    if count == 0:
        return
    arrivals = np.stack([rank.begins[chosen[:count]] for rank, chosen in zip(ranks, events, strict=True)])
    departures = np.stack([rank.ends[chosen[:count]] for rank, chosen in zip(ranks, events, strict=True)])
    left_init = np.array([[rank.left_init_s] for rank in ranks])
    begun = np.concatenate((left_init, departures[:, :-1]), axis=1)
    io_before = np.stack([rank.io.between(begun[r], arrivals[r]) for r, rank in enumerate(ranks)])
    log = ranks[0].log
    numbers = tuple(rank.number for rank in ranks)
    is_on_one_host = len({rank.log.header["host"] for rank in ranks}) == 1
    for k, event in enumerate(log.events[events[0][:count]]):
        call = log.calls[int(event["call"])].name
        columns = (arrivals[:, k], departures[:, k], io_before[:, k], begun[:, k])
        is_own = int(event["flags"]) & WITHIN == 0
        yield Collective(call, numbers, is_on_one_host, log.name_of(int(event["detail"])), is_own, *columns)


def _chained(collectives: list[Collective], ranks: Sequence[Rank]) -> list[Collective]:
    """Communicators may have all ranks in different orders, and so different groups. A collective of all ranks begins where the one
    before was left, in whichever of these groups that was."""
    if len({collective.ranks for collective in collectives if len(collective.ranks) == len(ranks)}) < 2:
        return collectives
    by_number = {rank.number: rank for rank in ranks}
    left = {rank.number: rank.left_init_s for rank in ranks}
    made = []
    for collective in collectives:
        if len(collective.ranks) == len(ranks):
            begun = np.array([left[number] for number in collective.ranks])
            intervals = zip(collective.ranks, begun, collective.arrivals, strict=True)
            io_before = np.array([by_number[number].io.between(begin, arrival) for number, begin, arrival in intervals])
            left.update(zip(collective.ranks, map(float, collective.departures), strict=True))
            collective = replace(collective, begun=begun, io_before=io_before)
        made.append(collective)
    return made
