"""The same bytes of a file are read again by the same process."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import parts_done_again, share_of_bytes
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import NONE, Activity, keys_of

NAME, TITLE = "repeated_reads", "The same bytes are read again and again"
LEAST_REPEATED = 0.25  # of the bytes that are read


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    reads = np.flatnonzero(activity.in_group("read") & activity.of_user_data & (activity.result > 0) & (activity.offset != NONE))
    if len(reads) == 0:
        return None
    again = parts_done_again(activity, reads, keys_of(activity.process[reads], activity.file[reads]))
    share = share_of_bytes(activity, reads, again)
    chosen = again > 0
    if share < LEAST_REPEATED or not chosen.any():
        return None
    calls = reads[chosen]
    return Cause(
        calls,
        activity.seconds[calls] * again[chosen],
        f"{100 * share:.0f} % of the bytes that are read were read before by the same process; most in "
        f"{files_text(activity, calls)}",
        "time of each read, by the part of its bytes that the process had read before",
        "keep the data in memory, or read it once and pass it on",
        confidence="high",
    )
