"""Ranks that write into one file at the same time wait for each other."""

from __future__ import annotations

import numpy as np

from tailrace.findings.activity import Activity, names
from tailrace.findings.estimates import FEW
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing

NAME, TITLE = "shared_file", "Many ranks write into one file at once"
SLOWER = 1.5
LEAST_BYTES = 4096


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    """Compares writes during which another process writes into the same file with writes during which none does."""
    calls = np.flatnonzero(activity.in_group("write") & activity.of_user_data & (activity.result >= LEAST_BYTES))
    crowded = np.zeros(len(calls), bool)
    for file in np.unique(activity.file[calls]).tolist():
        rows = np.flatnonzero(activity.file[calls] == file)
        if len(np.unique(activity.process[calls[rows]])) > 1:
            crowded[rows] = _meets_others(activity, calls[rows])
    if min(crowded.sum(), (~crowded).sum()) < FEW:
        return None  # nothing to compare with
    rates = activity.seconds[calls] / activity.result[calls]
    slow, fast = float(np.median(rates[crowded])), float(np.median(rates[~crowded]))
    if slow < SLOWER * fast:
        return None
    found = calls[crowded]
    return Cause(
        found,
        np.maximum(activity.seconds[found] - activity.result[found] * fast, 0),
        f"{len(found)} writes go into a file into which another process writes at that moment, and take {slow / fast:.1f} times as "
        f"long for each byte as the others; most in {', '.join(names(activity, activity.file[found], 2))}",
        "time of each above that of its bytes at the median rate of writes that met no other",
        "let one rank of each node write, or write a file for each node",
        ("layout = 'node'  # with the library: a file for each node", "layout = 'collective'  # one file, few writers"),
    )


def _meets_others(activity: Activity, calls: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Whether another process writes during each of these calls on one file."""
    begins, ends, process = activity.begin[calls], activity.end[calls], activity.process[calls]
    of_all = np.searchsorted(np.sort(begins), ends) - np.searchsorted(np.sort(ends), begins, "right")
    own = np.zeros(len(calls), np.int64)
    for each in np.unique(process).tolist():
        mine = process == each
        own[mine] = np.searchsorted(np.sort(begins[mine]), ends[mine]) - np.searchsorted(np.sort(ends[mine]), begins[mine], "right")
    return np.asarray(of_all > own)
