"""A stdio stream has a small buffer, so many small transfers move data between the buffer and the file."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import MEMORY_BYTES_PER_S, without_stalls
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.small import LARGER_BUFFER
from tailrace.quantities import bytes_text, count_text
from tailrace.trace.activity import Activity

NAME, TITLE = "stdio_buffer", "Streams have small buffers"
MANY, SMALL_BYTES, LARGE_BYTES = 1000, 16 << 10, 1 << 20


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    """Finds small transfers between a buffer and its file. A transfer is a row without a time, after the call that caused it."""
    transfers = np.flatnonzero(activity.in_group("fill", "flush") & activity.of_user_data & (activity.result > 0))
    transfers = transfers[activity.result[transfers] < SMALL_BYTES]
    if len(transfers) < MANY:
        return None
    before = np.maximum(transfers - 1, 0)
    caused = before[activity.in_group("stdio_write", "stdio_read")[before] & (activity.file[before] == activity.file[transfers])]
    plain = activity.in_group("stdio_write", "stdio_read") & activity.of_user_data
    plain[caused] = False
    if len(caused) == 0:
        return None
    usual = float(np.median(activity.seconds[plain])) if plain.any() else 0.0
    size = float(np.median(activity.result[transfers]))
    more = without_stalls(activity.seconds[caused]) - usual - size / MEMORY_BYTES_PER_S
    saved = np.maximum(more, 0) * (1 - size / LARGE_BYTES)
    return Cause(
        caused,
        saved,
        f"{count_text(len(transfers))} transfers move {bytes_text(size)} each (the median) between a buffer and its file; most for "
        f"{files_text(activity, caused)}",
        "time of the calls that moved a full buffer above that of the others and of copying, if buffers had 1 MiB",
        "give the stream a larger buffer",
        LARGER_BUFFER,
    )
