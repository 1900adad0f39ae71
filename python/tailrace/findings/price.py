"""What calls cost the run: seconds of its wall clock, not of its ranks.

**Ranks of MPI** meet in collectives. From one meeting to the next, the rank that works longest decides. Where each rank `r` works
`T[r]` and calls of a cause take `s[r]` of it, the run would be faster by `max(T) - max(T - s)`. The last meeting is the end.

**Other processes** may run at the same time. A second of one of `n` processes that run then counts `1 / n` seconds of the run. A
process with a living child waits for it and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.findings.activity import NONE, Activity, Array
from tailrace.trace.collectives import members_of

# Collectives in which no rank can leave before all have come.
COLLECTIVES = "Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block"
MEETINGS = tuple(f"MPI_{name}" for name in f"{COLLECTIVES} Comm_dup Comm_split Finalize".split())


class Pricing:
    """Prices of sets of calls of one run."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        ranks = activity.ranks
        self._rank_of = np.full(len(activity.processes) + 1, NONE, np.int64)  # place in `ranks`, by process
        self._rank_of[ranks] = np.arange(len(ranks))
        self._threads = self._main_threads()
        self.arrivals, self.departures = _meetings(activity, ranks, self._threads)
        self._since_begin, self._shares = _shares(activity)

    @property
    def meetings(self) -> int:
        return self.arrivals.shape[1] - 1  # without the end

    def work(self) -> Array:
        """Seconds that each rank works before each meeting: [rank, meeting]."""
        return np.asarray(self.arrivals - self.departures)

    def place(self, calls: Array) -> tuple[Array, Array]:
        """The rank of each call, as its place, and the meeting before which it was made. NONE: not of a rank's main thread."""
        activity = self._activity
        rank = self._rank_of[activity.process[calls]]
        rank = np.where(activity.thread[calls] == self._threads[activity.process[calls]], rank, NONE)
        meeting = np.full(len(calls), NONE)
        for r in np.unique(rank[rank != NONE]).tolist():
            of_rank = rank == r
            meeting[of_rank] = np.searchsorted(self.departures[r], activity.begin[calls[of_rank]], "right") - 1
        return rank, np.clip(meeting, 0, self.meetings)

    def of_ranks(self, calls: Array) -> tuple[Array, Array, Array]:
        """Those of the calls that main threads of ranks have made, with the rank and the meeting of each: see place()."""
        rank, meeting = self.place(calls)
        chosen = rank != NONE
        return calls[chosen], rank[chosen], meeting[chosen]

    def by_meeting(self, calls: Array, saved: Array | None = None) -> Array:
        """Seconds that calls take of each rank before each meeting: [rank, meeting]."""
        saved = self._activity.seconds[calls] if saved is None else saved
        rank, meeting = self.place(calls)
        sums = np.zeros(self.arrivals.shape)
        chosen = rank != NONE
        np.add.at(sums, (rank[chosen], meeting[chosen]), saved[chosen])
        return np.minimum(sums, np.maximum(self.work(), 0))

    def seconds(self, calls: Array, saved: Array | None = None) -> float:
        """How much sooner the run would end if each of these calls took so much less; by default, if it took no time."""
        activity = self._activity
        saved = activity.seconds[calls] if saved is None else saved
        if len(activity.ranks) > 0:
            work = self.work()
            return float((work.max(0) - (work - self.by_meeting(calls, saved)).max(0)).sum())
        spans = np.maximum(activity.seconds[calls], 1e-12)
        clock = [np.interp(activity.begin[calls], self._since_begin, self._shares)]
        clock.append(np.interp(activity.end[calls], self._since_begin, self._shares))
        return float((np.minimum(saved / spans, 1) * (clock[1] - clock[0])).sum())

    def _main_threads(self) -> Array:
        """The thread of each process whose number is the process's; else the one with most calls."""
        activity = self._activity
        main = np.full(len(activity.processes), NONE, np.int64)
        for index, process in enumerate(activity.processes):
            low, high = np.searchsorted(activity.process, [index, index + 1])
            threads, counts = np.unique(activity.thread[low:high], return_counts=True)
            if process.process in threads:
                main[index] = process.process
            elif len(threads):
                main[index] = threads[np.argmax(counts)]
        return main


def _meetings(activity: Activity, ranks: Sequence[int], threads: Array) -> tuple[Array, Array]:
    """When each rank comes to each collective of all ranks, and to its end; and when it left the one before: [rank, meeting]."""
    if not ranks:
        return np.zeros((0, 1)), np.zeros((0, 1))
    meets = activity.is_call(*MEETINGS)
    everyone = {k for k, name in enumerate(activity.names.files) if len(set(members_of(name) or ())) == len(ranks)}
    if everyone:
        meets &= np.isin(activity.file, list(everyone))
    of_ranks = []
    for index in ranks:
        low, high = np.searchsorted(activity.process, [index, index + 1])
        apart = (activity.flags[low:high] & 0xFF == 0) & (activity.begin[low:high] < activity.processes[index].merges_from)
        of_ranks.append(low + np.flatnonzero(meets[low:high] & apart))
    count = min(map(len, of_ranks)) if everyone else 0
    chosen = [calls[:count] for calls in of_ranks]
    starts = [[activity.processes[index].begin] for index in ranks]
    ends = [[activity.processes[index].end] for index in ranks]
    arrivals = np.array([[*activity.begin[calls], *end] for calls, end in zip(chosen, ends, strict=True)])
    departures = np.array([[*start, *activity.end[calls]] for calls, start in zip(chosen, starts, strict=True)])
    return arrivals, np.minimum(departures, arrivals)


def _shares(activity: Activity) -> tuple[Array, Array]:
    """For processes that are no ranks: times, and the integral over 1 / (processes that run, and have no living child)."""
    index_of: dict[tuple[str, int], list[int]] = {}
    for index, process in enumerate(activity.processes):
        index_of.setdefault((process.host, process.process), []).append(index)
    changes: list[tuple[float, int]] = []
    for process in activity.processes:
        changes += [(process.begin, 1), (process.end, -1)]
        for parent in index_of.get((process.host, process.parent), []):
            above = activity.processes[parent]
            begin, end = max(process.begin, above.begin), min(process.end, above.end)
            if begin < end:
                changes += [(begin, -1), (end, 1)]
    if not changes:
        return np.array([0.0, 1.0]), np.array([0.0, 1.0])
    changes.sort()
    times = np.array([time for time, _ in changes])
    running = np.maximum(np.cumsum([change for _, change in changes]), 1)
    integral = np.concatenate(([0.0], np.cumsum(np.diff(times) / running[:-1])))
    return times, integral
