"""The same bytes of a file are written again."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import parts_done_again, share_of_bytes
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "rewritten_files", "The same bytes are written again and again"
LEAST_REPEATED = 0.25


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    writes = activity.in_group("write") & activity.of_user_data & (activity.result > 0) & (activity.offset != NONE)
    calls = np.flatnonzero(writes)
    if len(calls) == 0:
        return None
    again = parts_done_again(activity, calls, activity.file[calls])
    share = share_of_bytes(activity, calls, again)
    chosen = again > 0
    if share < LEAST_REPEATED or not chosen.any():
        return None
    kept = calls[chosen]
    return Cause(
        kept,
        activity.seconds[kept] * again[chosen],
        f"{100 * share:.0f} % of the bytes that are written replace bytes that this run wrote before; "
        f"most in {files_text(activity, kept)}",
        "time of each write, by the part of its bytes that were written before",
        "write what changes at the end of a step once, or write checkpoints less often",
    )
