"""Some ranks always do more I/O than others, and the others wait for them."""

from __future__ import annotations

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.unequal import unequal_io
from tailrace.trace.activity import Activity

NAME, TITLE = "imbalance", "Ranks do unequal amounts of I/O"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    calls, saved, io = unequal_io(activity, pricing, take_turns=False)
    if len(calls) == 0:
        return None
    slowest = activity.processes[activity.ranks[int(io.sum(1).argmax())]].rank
    return Cause(
        calls,
        saved,
        f"rank {slowest} spends {io.sum(1).max() / io.sum(1).mean():.1f} times the mean of all ranks in I/O, and the others wait; "
        f"most in {files_text(activity, calls)}",
        "I/O of each rank above the mean of all ranks before the same collective",
        "give each rank the same share of the data to write, or let a rank of each node write for the others",
        ("layout = 'collective'  # [stream.NAME], where Tailrace's library writes",),
    )
