"""Programs, libraries and Python's modules are looked up and read."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import busiest_directory
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "start_up", "Programs and libraries are read at the start"
MANY = 300


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    calls = np.flatnonzero(activity.of_software & activity.is_own & (activity.file != NONE))
    if len(calls) < MANY:
        return None
    directory, _ = busiest_directory(activity, calls)
    files = len(np.unique(activity.file[calls]))
    return Cause(
        calls,
        activity.seconds[calls],
        f"{len(calls)} calls on {files} files of programs, libraries and modules; most in {directory}",
        "time of these calls; what the loader reads before a program begins is not in the log",
        "put the environment on a disk of the node, into one image file, or import less",
    )
