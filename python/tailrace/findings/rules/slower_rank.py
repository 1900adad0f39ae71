"""A rank takes longer than the others for as many calls and bytes, and the others wait for it."""

from __future__ import annotations

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.unequal import Kind, unequal_io
from tailrace.trace.activity import Activity

NAME, TITLE = "slower_rank", "A rank is slower than others for the same I/O"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    found = unequal_io(activity, pricing, Kind.SLOWER)
    if found is None:
        return None
    return Cause(
        found.calls,
        found.saved_s,
        f"rank {found.rank} takes {found.ratio:.1f} times as long for its calls and bytes as the median rank, and the others wait; "
        f"most in {files_text(activity, found.calls)}",
        "I/O of each rank above that of its calls and bytes, if they took as long as those of the median rank",
        "give each rank a core of its own, and record the run again. Where another rank is slow then, other programs disturb. "
        "Where it is the same one, compare the disk and the load of its node with those of the others",
        ("mpirun --report-bindings ...  # Open MPI: names the cores of each rank",),
        "low",
    )
