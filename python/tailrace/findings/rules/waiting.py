"""Ranks take turns in I/O: before each collective, all wait for another one."""

from __future__ import annotations

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.unequal import unequal_io
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity

NAME, TITLE = "waiting", "Ranks wait in turns for one that does I/O"
MANY = 3  # least number of collectives before which ranks are unequal


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    calls, saved, io = unequal_io(activity, pricing, take_turns=True)
    if len(calls) == 0 or io.shape[1] < MANY:
        return None
    return Cause(
        calls,
        saved,
        f"before {count_text(io.shape[1])} collectives, the ranks wait for one that does more I/O than the others, each time for "
        f"another one; most in {files_text(activity, calls)}",
        "I/O of each rank above the mean of all ranks before the same collective",
        "write at the same time on all ranks, or write while the run computes",
        ("overlap = 2  # [stream.NAME], where Tailrace's library writes: steps are written while the run computes",),
    )
