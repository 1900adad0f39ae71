"""Small transfers, for two rules: those that write and those that read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.findings.estimates import seconds_per_byte, without_stalls
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.trace.activity import Activity

MANY, SMALL_BYTES = 1000, 64 << 10
MOST_REPEATED = 1000  # times that a row of merged calls counts in the median
# The buffer is given, because glibc does not look at the size where it is not.
LARGER_BUFFER = ("static char buffer[1 << 20];", "setvbuf(file, buffer, _IOFBF, sizeof buffer);  // C, before the first call")
IN_PYTHON = "open(..., buffering=1 << 20)  # Python"


def small_transfers(activity: Activity, calls: Sequence[str], verb: str, remedy: str, lines: Sequence[str]) -> Cause | None:
    moves = np.flatnonzero(activity.is_call(*calls, merged=True) & activity.of_user_data & (activity.result > 0))
    sizes = activity.result[moves] / activity.count[moves]  # of a row of merged calls: their mean
    small = moves[sizes < SMALL_BYTES]
    counts = activity.count[small]
    per_file = np.bincount(activity.file[small], counts, minlength=len(activity.files)) if len(small) else np.zeros(1)
    small = small[per_file[activity.file[small]] >= MANY] if len(small) else small
    if len(small) == 0:
        return None
    moved = activity.result[small]
    needed = moved * seconds_per_byte(activity, moves)
    counts = activity.count[small]
    saved = np.maximum(without_stalls(activity.seconds[small] / counts) * counts - needed, 0)
    middle = int(np.median((moved / counts).repeat(np.minimum(counts, MOST_REPEATED))))
    past = {"write": "written", "read": "read"}[verb]
    return Cause(
        small,
        np.minimum(saved, activity.seconds[small]),
        f"{int(counts.sum())} calls {verb} {middle} bytes each (the median); most in {files_text(activity, small)}",
        f"time of each call above that of its bytes, if they were {past} in large calls",
        remedy,
        lines,
        "high",
    )
