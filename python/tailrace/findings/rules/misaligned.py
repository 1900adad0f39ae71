"""Large writes that begin within a block of the file system are slower than those that begin with one."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import slower_than_others
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "misaligned", "Writes do not begin with a block"
BLOCK_BYTES, LARGE_BYTES = 4096, 64 << 10
SLOWER = 1.3


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    writes = activity.in_group("write") & activity.of_user_data & (activity.result >= LARGE_BYTES) & (activity.offset != NONE)
    calls = np.flatnonzero(writes)
    aside = activity.offset[calls] % BLOCK_BYTES != 0
    slower = slower_than_others(activity, calls, aside, SLOWER)
    if slower is None:
        return None
    found = calls[aside]
    return Cause(
        found,
        slower.saved_s,
        f"{count_text(len(found))} large writes do not begin at a multiple of {BLOCK_BYTES} bytes, and take "
        f"{slower.times:.1f} times as long for each byte as those that do; most in {files_text(activity, found)}",
        "time of each above that of its bytes at the median rate of aligned writes",
        "let arrays begin at a multiple of the block or stripe",
        ("alignment = '1 MiB'  # [stream.NAME], where Tailrace's library writes",),
    )
