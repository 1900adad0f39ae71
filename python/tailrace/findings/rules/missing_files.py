"""Many calls look for files that do not exist."""

from __future__ import annotations

import posixpath

import numpy as np

from tailrace.findings.files import where_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "missing_files", "Files are looked for that do not exist"
MANY, ENOENT = 200, -2
SEARCHED = 0.7  # a search in several directories: distinct names without directories are at most this share of the full names
AGAIN = 1.5  # calls per name, from which the remedy is to remember the answer


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    looks = activity.in_group("open", "meta", merged=True) & (activity.result == ENOENT) & (activity.file != NONE)
    calls = np.flatnonzero(looks & activity.is_outermost)
    many = int(activity.count[calls].sum())
    if many < MANY:
        return None
    names = [activity.files[number] for number in np.unique(activity.file[calls]).tolist()]
    is_search = len({posixpath.basename(name) for name in names}) <= SEARCHED * len(names)
    if is_search:
        remedy = "shorten the search path (PATH, LD_LIBRARY_PATH, PYTHONPATH, -I of a compiler)"
    elif many >= AGAIN * len(names):
        remedy = "ask once and remember the answer"
    else:
        remedy = "do not ask before a file is made: open it with O_CREAT | O_EXCL, and see whether that works"
    return Cause(
        calls,
        activity.seconds[calls],
        f"{count_text(many)} calls look for {count_text(len(names))} names that do not exist, {where_text(activity, calls)}",
        "time of all these calls",
        remedy,
        confidence="high",
    )
