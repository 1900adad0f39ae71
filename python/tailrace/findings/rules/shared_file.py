"""Ranks that write into one file at the same time wait for each other."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import slower_than_others
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity, Array

NAME, TITLE = "shared_file", "Many ranks write into one file at once"
SLOWER = 1.5
LEAST_BYTES = 4096


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    """Compares writes during which another process writes into the same file with writes during which none does."""
    calls = np.flatnonzero(activity.in_group("write") & activity.of_user_data & (activity.result >= LEAST_BYTES))
    crowded = _meets_others(activity, calls)
    slower = slower_than_others(activity, calls, crowded, SLOWER)
    if slower is None:
        return None
    found = calls[crowded]
    return Cause(
        found,
        slower.saved_s,
        f"{count_text(len(found))} writes go into a file into which another process writes at that moment, and "
        f"take {slower.times:.1f} times as long for each byte as the others; most in {files_text(activity, found)}",
        "time of each above that of its bytes at the median rate of writes that met no other",
        "let one rank of each node write, or write a file for each node",
        ("layout = 'node'  # with the library: a file for each node", "layout = 'collective'  # one file, few writers"),
    )


def _meets_others(activity: Activity, calls: Array) -> Array:
    """Whether another process writes into the same file during each of these calls."""
    file, process = activity.file[calls].astype(np.int64), activity.process[calls]
    begins, ends = activity.begin[calls], activity.end[calls]
    return _during(file, begins, ends) > _during(file * len(activity.processes) + process, begins, ends)


def _during(group: Array, begins: Array, ends: Array) -> Array:
    """How many intervals of its group each of these intervals meets, itself included."""
    times = np.unique(np.concatenate((begins, ends)))
    # Numbers that are ordered by group, then by time. What lies in groups before is in both counts.
    first, last = (group * len(times) + np.searchsorted(times, each) for each in (begins, ends))
    return np.asarray(np.searchsorted(np.sort(first), last) - np.searchsorted(np.sort(last), first, "right"))
