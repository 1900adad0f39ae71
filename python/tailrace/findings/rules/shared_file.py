"""Ranks that write into one file at the same time wait for each other."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import slower_than_others
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import NONE, Activity, Array, keys_of

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
        (
            "layout = 'node'  # [stream.NAME], where Tailrace's library writes: a file for each node",
            "layout = 'collective'  # one file, few writers",
        ),
    )


def _meets_others(activity: Activity, calls: Array) -> Array:
    """Whether another process writes into the same file during each of these calls."""
    found = np.zeros(len(calls), bool)
    file, process = activity.file[calls], activity.process[calls]
    files = int(file.max(initial=NONE)) + 1
    of_file, is_shared = np.empty(files, process.dtype), np.zeros(files, bool)
    of_file[file] = process
    is_shared[file[of_file[file] != process]] = True
    chosen = np.flatnonzero(is_shared[file])
    if len(chosen) == 0:
        return found
    file, process = file[chosen], process[chosen]
    # Sorts ends and beginnings by time. At the same moment, an end sorts before a beginning: intervals that only touch do not meet.
    order = np.argsort(np.concatenate((activity.end[calls[chosen]], activity.begin[calls[chosen]])), kind="stable")
    of_all, of_own = (_during(group, order) for group in (file, keys_of(file, process)))
    found[chosen] = of_all > of_own
    return found


def _during(group: Array, order: Array) -> Array:
    """How many intervals of its group each interval meets, itself included. `order` sorts all ends, followed by all beginnings."""
    count = len(group)
    by_group = order[np.argsort(np.tile(group, 2)[order], kind="stable")]
    is_begin = by_group >= count
    begun, ended = np.cumsum(is_begin), np.cumsum(~is_begin)
    begins, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    begins[by_group[~is_begin]] = begun[~is_begin]  # before its end
    ends[by_group[is_begin] - count] = ended[is_begin]  # before its beginning
    return begins - ends
