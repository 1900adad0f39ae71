"""Which calls of a thread were made within others, and how long each took without them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
NO_PARENT = -1


class Nested(NamedTuple):
    self_ns: Array  # of each call: its time without that of calls within it
    parent: Array  # the place of the call within which each was made; NO_PARENT: the program's own


def nested(begin: Array, end: Array) -> Nested:
    """Of the calls of one thread, in the order of their beginnings; of those that begin together, the outermost is first.

    Calls of one thread lie one within the other or apart. Where two overlap (Darshan knows no threads), the time that they share
    belongs to the first. So the sum of all self times is the time in which the thread was in any call."""
    self_ns = np.zeros(len(begin), np.int64)
    parent = np.full(len(begin), NO_PARENT)
    starts = np.array(begin, np.int64)  # a call that overlaps an earlier one begins where that ends
    places = np.arange(len(begin))
    while len(places):  # the calls of one level of depth in each round
        ends = end[places]
        before = np.maximum.accumulate(ends)
        is_outer = np.ones(len(places), bool)
        is_outer[1:] = (begin[places][1:] >= before[:-1]) | (ends[1:] > before[:-1])
        outer = places[is_outer]
        free_from = np.concatenate(([np.iinfo(np.int64).min], before[:-1]))[is_outer]
        starts[outer] = np.maximum(starts[outer], free_from)
        of_parent = parent[outer]
        inner = of_parent != NO_PARENT
        starts[outer[inner]] = np.maximum(starts[outer[inner]], starts[of_parent[inner]])
        lengths = np.maximum(end[outer] - starts[outer], 0)
        self_ns[outer] = lengths
        np.subtract.at(self_ns, of_parent[inner], lengths[inner])
        last_outer = outer[np.cumsum(is_outer) - 1]
        parent[places[~is_outer]] = last_outer[~is_outer]
        places = places[~is_outer]
    return Nested(np.maximum(self_ns, 0), parent)


def made_within(parent: Array, starts: Array, stops: Array) -> Array:
    """Whether each call was made within a call of `starts`, directly or through others that are not of `stops`."""
    within = np.zeros(len(parent), bool)
    pending = np.flatnonzero(parent != NO_PARENT)
    while True:
        above = parent[pending]
        found = pending[(starts[above] | (within[above] & ~stops[above])) & ~within[pending]]
        if not len(found):
            return within
        within[found] = True


def union_ns(begin: Array, end: Array) -> int:
    """The time in which at least one of the intervals lasts."""
    order = np.argsort(begin, kind="stable")
    begins, ends = begin[order], np.maximum.accumulate(end[order]) if len(end) else end
    free_from = np.concatenate(([np.iinfo(np.int64).min], ends[:-1])) if len(ends) else ends
    return int(np.maximum(ends - np.maximum(begins, free_from), 0).sum())
