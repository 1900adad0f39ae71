"""Programs, libraries and Python's modules are looked up and read, before the process writes anything."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import where_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "start_up", "Programs and libraries are read at the start"
MANY = 300
# Folders of installed files that starting a program does not read. A program that reads them, such as tar, uses them as data.
DATA = ("/usr/share/", "/usr/include/", "/usr/src/", "/usr/local/share/", "/usr/local/include/")


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    is_data = np.array([*(name.startswith(DATA) for name in activity.files), False], bool)
    written = activity.in_group("write", "stdio_write", merged=True) & activity.of_user_data & (activity.result > 0)
    first_write = np.full(len(activity.processes), np.inf)
    np.minimum.at(first_write, activity.process[written], activity.begin[written])
    is_read = activity.of_software & activity.is_own & (activity.file != NONE) & ~is_data[activity.file]
    calls = np.flatnonzero(is_read & (activity.begin < first_write[activity.process]))
    if len(calls) < MANY:
        return None
    files = len(np.unique(activity.file[calls]))
    return Cause(
        calls,
        activity.seconds[calls],
        f"{count_text(len(calls))} calls on {count_text(files)} files of programs, libraries and modules, "
        f"{where_text(activity, calls)}",
        "time of these calls; what the loader reads before a program begins is not in the log",
        "put the environment on a disk of the node, into one image file, or import less",
    )
