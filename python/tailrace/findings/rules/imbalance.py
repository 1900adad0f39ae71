"""Some ranks always do more I/O than others, and the others wait for them."""

from __future__ import annotations

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.unequal import Kind, unequal_io
from tailrace.trace.activity import Activity

NAME, TITLE = "imbalance", "Ranks do unequal amounts of I/O"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    found = unequal_io(activity, pricing, Kind.MORE)
    if found is None:
        return None
    return Cause(
        found.calls,
        found.saved_s,
        f"rank {found.rank} spends {found.ratio:.1f} times the mean of all ranks in I/O, and the others wait; "
        f"most in {files_text(activity, found.calls)}",
        "I/O of each rank above the mean of all ranks before the same collective",
        "give each rank the same share of the data to write, or let a rank of each node write for the others",
        ("layout = 'collective'  # [stream.NAME], where Tailrace's library writes",),
    )
