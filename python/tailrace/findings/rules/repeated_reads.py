"""The same bytes of a file are read again by the same process."""

from __future__ import annotations

import numpy as np

from tailrace.findings.activity import NONE, Activity, names
from tailrace.findings.estimates import keys_of, repeated
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing

NAME, TITLE = "repeated_reads", "The same bytes are read again and again"
LEAST_REPEATED = 0.25  # of the bytes that are read


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    reads = np.flatnonzero(activity.in_group("read") & activity.of_user_data & (activity.result > 0) & (activity.offset != NONE))
    if len(reads) == 0:
        return None
    key = keys_of(activity.process[reads], activity.file[reads])
    again = np.zeros(len(reads))
    order = np.argsort(key, kind="stable")  # by process and file, each in the order of time
    for of_file in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        calls = reads[of_file]
        again[of_file] = repeated(activity.offset[calls], activity.offset[calls] + activity.result[calls])
    moved = activity.result[reads]
    share = float((again * moved).sum() / moved.sum())
    chosen = again > 0
    if share < LEAST_REPEATED or not chosen.any():
        return None
    calls = reads[chosen]
    return Cause(
        calls,
        activity.seconds[calls] * again[chosen],
        f"{100 * share:.0f} % of the bytes that are read were read before by the same process; most in "
        f"{', '.join(names(activity, activity.file[calls], 2))}",
        "time of each read, by the part of its bytes that the process had read before",
        "keep the data in memory, or read it once and pass it on",
        confidence="high",
    )
