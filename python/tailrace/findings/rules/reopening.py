"""A process opens the same file again and again."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import NONE, Activity, keys_of

NAME, TITLE = "reopening", "Files are opened again and again"
MANY = 20  # least number of times that a process opens the same file


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    handles = activity.is_call("open", "fopen", "close", "fclose", "MPI_File_open", "MPI_File_close", "H5Fopen", "H5Fclose")
    handles |= activity.is_call("nc_open", "nc_close", "ncmpi_open", "ncmpi_close")
    own = handles & activity.is_own & activity.of_user_data & (activity.result >= 0) & (activity.file != NONE)
    calls = np.flatnonzero(own)
    if len(calls) == 0:
        return None
    key = keys_of(activity.process[calls], activity.file[calls])
    is_open = activity.in_group("open")[calls] | activity.is_call("MPI_File_open", "H5Fopen", "nc_open", "ncmpi_open")[calls]
    opens = np.bincount(key, is_open)
    _, first = np.unique(key, return_index=True)
    chosen = opens[key] >= MANY
    chosen[first] = False
    if not chosen.any():
        return None
    again = calls[chosen]
    most = int(opens.max())
    return Cause(
        again,
        activity.seconds[again],
        f"files are opened up to {most} times by one process; most often {files_text(activity, again)}",
        "time of opening and closing these files, without the first time",
        "keep the file open between steps; where others must see the data, flush instead of closing",
        confidence="high",
    )
