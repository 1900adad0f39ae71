"""Many files are removed one by one."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import busiest_directory
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity

NAME, TITLE = "unlink_storm", "Many files are removed one by one"
MANY = 200


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    calls = np.flatnonzero(activity.is_call("unlink", "rmdir", merged=True) & activity.of_user_data & (activity.result >= 0))
    many = int(activity.count[calls].sum())
    if many < MANY:
        return None
    directory, in_it = busiest_directory(activity, calls)
    return Cause(
        calls,
        activity.seconds[calls],
        f"{many} files are removed, {in_it} of them from {directory}",
        "time of all these removals",
        "keep fewer and larger files, write over old ones instead of removing them, or remove them after the run",
        ("keep = N  # with the library: removes whole files of old steps",),
    )
