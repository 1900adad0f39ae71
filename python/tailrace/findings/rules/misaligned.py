"""Large writes that begin within a block of the file system are slower than those that begin with one."""

from __future__ import annotations

import numpy as np

from tailrace.findings.activity import NONE, Activity, names
from tailrace.findings.estimates import FEW
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing

NAME, TITLE = "misaligned", "Writes do not begin with a block"
BLOCK_BYTES, LARGE_BYTES = 4096, 64 << 10
SLOWER = 1.3


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    writes = activity.in_group("write") & activity.of_user_data & (activity.result >= LARGE_BYTES) & (activity.offset != NONE)
    calls = np.flatnonzero(writes)
    aside = activity.offset[calls] % BLOCK_BYTES != 0
    if min(aside.sum(), (~aside).sum()) < FEW:
        return None  # nothing to compare with
    rates = activity.seconds[calls] / activity.result[calls]
    slow, fast = float(np.median(rates[aside])), float(np.median(rates[~aside]))
    if slow < SLOWER * fast:
        return None
    found = calls[aside]
    return Cause(
        found,
        np.maximum(activity.seconds[found] - activity.result[found] * fast, 0),
        f"{len(found)} large writes do not begin at a multiple of {BLOCK_BYTES} bytes, and take {slow / fast:.1f} times as long "
        f"for each byte as those that do; most in {', '.join(names(activity, activity.file[found], 2))}",
        "time of each above that of its bytes at the median rate of aligned writes",
        "let arrays begin at a multiple of the block or stripe",
        ("alignment = '1 MiB'  # with the library",),
    )
