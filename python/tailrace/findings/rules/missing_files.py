"""Files are looked for that do not exist."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import busiest_directory
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "missing_files", "Files are looked for that do not exist"
MANY, ENOENT = 200, -2


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    looks = activity.in_group("open", "meta", merged=True) & (activity.result == ENOENT) & (activity.file != NONE)
    calls = np.flatnonzero(looks & activity.is_outermost)
    many = int(activity.count[calls].sum())
    if many < MANY:
        return None
    directory, in_it = busiest_directory(activity, calls)
    different = len(np.unique(activity.file[calls]))
    return Cause(
        calls,
        activity.seconds[calls],
        f"{many} calls look for {different} names that do not exist, {in_it} of them in {directory}",
        "time of all these calls",
        "shorten the search path (PATH, LD_LIBRARY_PATH, PYTHONPATH), or ask once and remember the answer",
        confidence="high",
    )
