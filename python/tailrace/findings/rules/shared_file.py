"""Ranks that write into one file at the same time wait for each other."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import slower_than_others
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity, Array

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
    slower = slower_than_others(activity, calls, crowded, SLOWER)
    if slower is None:
        return None
    found = calls[crowded]
    return Cause(
        found,
        slower.saved_s,
        f"{len(found)} writes go into a file into which another process writes at that moment, and take {slower.times:.1f} times "
        f"as long for each byte as the others; most in {files_text(activity, found)}",
        "time of each above that of its bytes at the median rate of writes that met no other",
        "let one rank of each node write, or write a file for each node",
        ("layout = 'node'  # with the library: a file for each node", "layout = 'collective'  # one file, few writers"),
    )


def _meets_others(activity: Activity, calls: Array) -> Array:
    """Whether another process writes during each of these calls on one file."""
    begins, ends, process = activity.begin[calls], activity.end[calls], activity.process[calls]
    own = np.zeros(len(calls), np.int64)
    for each in np.unique(process).tolist():
        mine = process == each
        own[mine] = _during(begins[mine], ends[mine])
    return _during(begins, ends) > own


def _during(begins: Array, ends: Array) -> Array:
    """How many of these intervals each of them meets, itself included."""
    return np.asarray(np.searchsorted(np.sort(begins), ends) - np.searchsorted(np.sort(ends), begins, "right"))
