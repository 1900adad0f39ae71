"""What a call would cost without its cause, estimated from other calls of the same run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.trace.activity import Activity, Array

LARGE_BYTES = 256 << 10  # calls of at least this size: their fixed cost is small against the time of their bytes
MEMORY_BYTES_PER_S = 2e9  # copying a byte to a buffer of the program; used where a run has no large calls
FEW = 20  # with fewer calls, no median is computed


def seconds_per_byte(activity: Activity, like: Array) -> float:
    """The median seconds per byte of the large transfers among the calls `like`. If they are few: that of copying in memory."""
    moved = activity.result[like]
    large = like[(moved >= LARGE_BYTES) & (activity.count[like] == 1)]
    if len(large) < FEW:
        return 1 / MEMORY_BYTES_PER_S
    return max(float(np.median(activity.seconds[large] / activity.result[large])), 1 / (5 * MEMORY_BYTES_PER_S))


def without_stalls(seconds: Array) -> Array:
    """Limits each time to five times the median of similar calls: cuts off what single calls wait for, such as a full cache."""
    return np.minimum(seconds, 5 * float(np.median(seconds))) if len(seconds) else seconds


def smoothed(seconds: Array, width: int = 64) -> Array:
    """For each call, the median of its group. A group is `width` consecutive calls; the last group may have fewer."""
    whole = len(seconds) // width * width
    medians = np.median(seconds[:whole].reshape(-1, width), axis=1).repeat(width)
    rest = seconds[whole:]
    return np.concatenate((medians, np.full(len(rest), float(np.median(rest)) if len(rest) else 0.0)))


def parts_done_again(activity: Activity, calls: Array, key: Array) -> Array:
    """For each transfer: the fraction of its bytes that earlier transfers with the same key have already moved. `key`: a number for
    each call; transfers with one key are of one file."""
    began, begin = activity.begin[calls], activity.offset[calls]
    end = begin + activity.result[calls]
    order = np.lexsort((began, end, begin, key))
    same_key = np.append(False, np.diff(key[order]) == 0)
    is_same = same_key & np.append(False, (np.diff(begin[order]) == 0) & (np.diff(end[order]) == 0))
    again = np.empty(len(calls))
    again[order] = is_same
    # Done for ranges that equal other ranges or overlap none: most files have only such ranges. The rest overlap in part.
    different = order[~is_same]
    entangled = np.append(key[different][1:] == key[different][:-1], False)
    entangled[:-1] &= end[different][:-1] > begin[different][1:]
    rest = np.flatnonzero(np.isin(key, key[different][entangled]))
    rest = rest[np.lexsort((began[rest], key[rest]))]
    for rows in np.split(rest, np.flatnonzero(np.diff(key[rest])) + 1):
        again[rows] = repeated(begin[rows], end[rows])
    return again


def share_of_bytes(activity: Activity, calls: Array, parts: Array) -> float:
    """The fraction of the bytes of all these transfers, from `parts`: the fraction of each transfer."""
    moved = activity.result[calls]
    return float((parts * moved).sum() / moved.sum())


class Slower(NamedTuple):
    times: float  # how many times as long the slow transfers take for each byte as the others
    saved_s: Array  # for each slow transfer: its seconds above those of its bytes at the others' median rate


def slower_than_others(activity: Activity, calls: Array, are_slow: Array, least: float) -> Slower | None:
    """Compares the transfers that `are_slow` marks with the other `calls`. None if either kind is few, or if the marked ones take
    less than `least` times as long for each byte."""
    if min(are_slow.sum(), (~are_slow).sum()) < FEW:
        return None
    rates = activity.seconds[calls] / activity.result[calls]
    slow, fast = float(np.median(rates[are_slow])), float(np.median(rates[~are_slow]))
    if slow < least * fast:
        return None
    found = calls[are_slow]
    return Slower(slow / fast, np.maximum(activity.seconds[found] - activity.result[found] * fast, 0))


def repeated(begin: Array, end: Array) -> Array:
    """For each range [begin, end) of one file, in the given order: the fraction of its bytes that earlier ranges have covered."""
    edges = np.unique(np.concatenate((begin, end)))
    low, high = np.searchsorted(edges, begin), np.searchsorted(edges, end)
    if len(edges) > 1 and (high - low).sum() > 50 * len(begin) + 10_000_000:
        return np.zeros(len(begin))  # too many overlaps: computing them would take too long
    seen = np.zeros(max(len(edges) - 1, 1), bool)
    widths = np.diff(edges)
    found = np.zeros(len(begin))
    for k, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if last > first:
            found[k] = widths[first:last][seen[first:last]].sum() / (end[k] - begin[k])
            seen[first:last] = True
    return found
