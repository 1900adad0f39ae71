"""What a call would cost without its cause, estimated from other calls of the same run."""

from __future__ import annotations

import numpy as np

from tailrace.findings.activity import Activity, Array

LARGE_BYTES = 256 << 10  # a call of at least so many bytes costs little for itself: its time is that of its bytes
MEMORY_BYTES_PER_S = 2e9  # copying a byte to a buffer of the program; used where a run has no large calls
FEW = 20  # fewer calls are no sample


def seconds_per_byte(activity: Activity, like: Array) -> float:
    """Of large transfers among `like`: the median. Copying in memory, where there are few."""
    moved = activity.result[like]
    large = like[(moved >= LARGE_BYTES) & (activity.count[like] == 1)]
    if len(large) < FEW:
        return 1 / MEMORY_BYTES_PER_S
    return max(float(np.median(activity.seconds[large] / activity.result[large])), 1 / (5 * MEMORY_BYTES_PER_S))


def without_stalls(seconds: Array) -> Array:
    """Times of like calls without what single ones wait for, such as a full cache: at most five times their median."""
    return np.minimum(seconds, 5 * float(np.median(seconds))) if len(seconds) else seconds


def smoothed(seconds: Array, width: int = 64) -> Array:
    """For each call, the median of the group of so many calls, one after the other, that it is in."""
    whole = len(seconds) // width * width
    medians = np.median(seconds[:whole].reshape(-1, width), axis=1).repeat(width)
    rest = seconds[whole:]
    return np.concatenate((medians, np.full(len(rest), float(np.median(rest)) if len(rest) else 0.0)))


def keys_of(*columns: Array) -> Array:
    """A number for each distinct combination of values."""
    _, key = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return np.asarray(key).reshape(-1)


def repeated(begin: Array, end: Array) -> Array:
    """Of each range of bytes, in the order given: the fraction that earlier ranges have covered already. Ranges are of one file."""
    edges = np.unique(np.concatenate((begin, end)))
    low, high = np.searchsorted(edges, begin), np.searchsorted(edges, end)
    if len(edges) > 1 and (high - low).sum() > 50 * len(begin) + 10_000_000:
        return np.zeros(len(begin))  # too entangled to be worth its time
    seen = np.zeros(max(len(edges) - 1, 1), bool)
    widths = np.diff(edges)
    found = np.zeros(len(begin))
    for k, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if last > first:
            found[k] = widths[first:last][seen[first:last]].sum() / (end[k] - begin[k])
            seen[first:last] = True
    return found
