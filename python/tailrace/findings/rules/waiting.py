"""Ranks take turns in I/O: before each collective, all wait for another one."""

from __future__ import annotations

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.unequal import Kind, unequal_io
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity

NAME, TITLE = "waiting", "Ranks wait in turns for one that does I/O"
MANY = 3  # least number of collectives before which ranks are unequal


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    found = unequal_io(activity, pricing, Kind.TURNS)
    if found is None or found.meetings < MANY:
        return None
    return Cause(
        found.calls,
        found.saved_s,
        f"before {count_text(found.meetings)} collectives, the ranks wait for one that does more I/O than the others, each time "
        f"for another one; most in {files_text(activity, found.calls)}",
        "I/O of each rank above the mean of all ranks before the same collective",
        "write at the same time on all ranks, or write while the run computes",
        ("overlap = 2  # [stream.NAME], where Tailrace's library writes: steps are written while the run computes",),
    )
