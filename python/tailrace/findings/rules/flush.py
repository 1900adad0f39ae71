"""Streams are flushed before their buffers are full."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity

NAME, TITLE = "flush", "Buffers are flushed early"
MANY = 200


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    flushes = activity.is_call("fflush", "H5Fflush", "nc_sync", "ncmpi_sync", "MPI_File_sync", merged=True)
    calls = np.flatnonzero(flushes & activity.is_own & activity.of_user_data & (activity.result >= 0))
    many = int(activity.count[calls].sum())
    if many < MANY:
        return None
    return Cause(
        calls,
        activity.seconds[calls],
        f"{count_text(many)} calls flush a buffer; most for {files_text(activity, calls)}",
        "time of these calls; the data still has to be written once, in larger pieces",
        "flush when a step is complete, and not after each line or variable",
    )
