"""Work that one rank does while the others wait, for two rules: writing and reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity

MOST_OF_ALL = 0.8  # a rank with at least this share of the seconds of all ranks does the work alone
MOST_AT_ONCE = 4  # ranks that can be expected to move data at once without slowing each other


def alone(
    activity: Activity, pricing: Pricing, groups: Sequence[str], verb: str, remedy: str, lines: Sequence[str]
) -> Cause | None:
    ranks = len(activity.ranks)
    if ranks < 2:
        return None
    calls = np.flatnonzero(activity.in_group(*groups, merged=True) & activity.of_user_data & (activity.result >= 0))
    if len(calls) == 0:
        return None
    calls, rank, meeting = pricing.of_ranks(calls)
    sums = pricing.by_meeting(calls)
    total, most = sums.sum(0), sums.max(0)
    is_alone = (total > 0) & (most >= MOST_OF_ALL * total)
    alone_s = np.bincount(sums.argmax(0)[is_alone], most[is_alone], minlength=ranks)
    who = int(alone_s.argmax())
    chosen = is_alone[meeting] & (rank == who)
    if not chosen.any() or alone_s[who] < MOST_OF_ALL * alone_s.sum():
        return None  # ranks take turns: another cause
    at_once = min(ranks, MOST_AT_ONCE)
    found = calls[chosen]
    return Cause(
        found,
        activity.seconds[found] * (1 - 1 / at_once),
        f"rank {activity.processes[activity.ranks[who]].rank} alone {verb}, and the others wait; most in "
        f"{files_text(activity, found)}",
        f"time of these calls, if {at_once} ranks shared them equally",
        remedy,
        lines,
    )
