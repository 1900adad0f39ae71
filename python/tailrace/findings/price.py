"""What calls cost the run: seconds of its wall clock, not of its ranks.

**Ranks of MPI** meet in collectives. From one meeting to the next, the rank that works longest decides. Where each rank `r` works
`T[r]` and calls of a cause take `s[r]` of it, the run would be faster by `max(T) - max(T - s)`. The last meeting is the end.

**Other processes** may run at the same time. A second of one of `n` processes that run then counts `1 / n` seconds of the run. A
process with a living child waits for it and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.trace.activity import NONE, Activity, Array
from tailrace.trace.collectives import members_of

# Collectives that no rank can leave before all ranks have entered.
COLLECTIVES = "Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block"
MEETINGS = tuple(f"MPI_{name}" for name in f"{COLLECTIVES} Comm_dup Comm_split Finalize".split())


class Pricing:
    """Computes how many seconds of one run a set of its calls costs."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        ranks = activity.ranks
        self.arrivals, self.departures = _meetings(activity, ranks)
        self._since_begin, self._shares = _shares(activity)
        # For each call of a rank's main thread: the position of the rank in `ranks`, and the number of the next meeting.
        self._rank = np.full(len(activity.begin), NONE, np.int32)
        self._meeting = np.full(len(activity.begin), NONE, np.int64)
        for place, index in enumerate(ranks):
            rows = _of_main_thread(activity, index)
            self._rank[rows] = place
            before = np.searchsorted(self.departures[place], activity.begin[rows], "right") - 1
            self._meeting[rows] = np.clip(before, 0, self.meetings)

    @property
    def meetings(self) -> int:
        return self.arrivals.shape[1] - 1  # the last column of `arrivals` is the end, not a meeting

    def work(self) -> Array:
        """Seconds that each rank works before each meeting: [rank, meeting]."""
        return np.asarray(self.arrivals - self.departures)

    def of_ranks(self, calls: Array) -> tuple[Array, Array, Array]:
        """Those of `calls` that main threads of ranks have made. For each: the position of its rank, and the number of the next
        meeting."""
        found = calls[self._rank[calls] != NONE]
        return found, self._rank[found], self._meeting[found]

    def by_meeting(self, calls: Array, saved: Array | None = None) -> Array:
        """Seconds that calls take of each rank before each meeting: [rank, meeting]."""
        saved = self._activity.seconds[calls] if saved is None else saved
        chosen = self._rank[calls] != NONE
        shape = self.arrivals.shape
        at = self._rank[calls[chosen]] * np.int64(shape[1]) + self._meeting[calls[chosen]]
        sums = np.bincount(at, saved[chosen], shape[0] * shape[1]).reshape(shape)
        return np.minimum(sums, np.maximum(self.work(), 0))

    def seconds(self, calls: Array, saved: Array | None = None) -> float:
        """How much sooner the run would end if each of these calls took `saved` seconds less. None: if each took no time."""
        activity = self._activity
        saved = activity.seconds[calls] if saved is None else saved
        if len(activity.ranks) > 0:
            work = self.work()
            return float((work.max(0) - (work - self.by_meeting(calls, saved)).max(0)).sum())
        spans = np.maximum(activity.seconds[calls], 1e-12)
        clock = [np.interp(activity.begin[calls], self._since_begin, self._shares)]
        clock.append(np.interp(activity.end[calls], self._since_begin, self._shares))
        return float((np.minimum(saved / spans, 1) * (clock[1] - clock[0])).sum())


def _of_main_thread(activity: Activity, process: int) -> Array:
    """The rows of the thread whose number is the process's. If there are none: the rows of the thread with most rows."""
    low, high = activity.rows_of(process)
    threads = activity.thread[low:high]
    is_main = threads == activity.processes[process].process
    if len(threads) and not is_main.any():
        different, counts = np.unique(threads, return_counts=True)
        is_main = threads == different[np.argmax(counts)]
    return np.asarray(low + np.flatnonzero(is_main))


def _meetings(activity: Activity, ranks: Sequence[int]) -> tuple[Array, Array]:
    """When each rank enters each collective of all ranks, and its end; and when it left the collective before: [rank, meeting]."""
    if not ranks:
        return np.zeros((0, 1)), np.zeros((0, 1))
    meets = activity.is_call(*MEETINGS)
    everyone = {k for k, name in enumerate(activity.files) if len(set(members_of(name) or ())) == len(ranks)}
    if everyone:
        meets &= np.isin(activity.file, list(everyone))
    of_ranks = []
    for index in ranks:
        low, high = activity.rows_of(index)
        apart = activity.is_outermost[low:high] & (activity.begin[low:high] < activity.processes[index].merges_from)
        of_ranks.append(low + np.flatnonzero(meets[low:high] & apart))
    count = min(map(len, of_ranks)) if everyone else 0
    chosen = [calls[:count] for calls in of_ranks]
    starts = [[activity.processes[index].begin] for index in ranks]
    ends = [[activity.processes[index].end] for index in ranks]
    arrivals = np.array([[*activity.begin[calls], *end] for calls, end in zip(chosen, ends, strict=True)])
    departures = np.array([[*start, *activity.end[calls]] for calls, start in zip(chosen, starts, strict=True)])
    return arrivals, np.minimum(departures, arrivals)


def _shares(activity: Activity) -> tuple[Array, Array]:
    """For processes without ranks: times, and up to each the integral of 1 / (number of processes that run without a living
    child)."""
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
