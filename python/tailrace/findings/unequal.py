"""Unequal I/O of ranks, for two rules: the same ranks always do more, or ranks take turns."""

from __future__ import annotations

import numpy as np

from tailrace.findings.alone import MOST_OF_ALL
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity, Array

UNEQUAL = 1.5  # ranks are unequal if one has more than this many times the mean of all


def unequal_io(activity: Activity, pricing: Pricing, take_turns: bool) -> tuple[Array, Array, Array]:
    """Returns three arrays, all empty if one rank does all I/O alone. First, calls of ranks that do more I/O than the mean of all
    ranks before the same meeting. Second, the seconds of each call above the mean. Third, the I/O seconds of each rank before each
    meeting with unequal ranks."""
    io_calls = np.flatnonzero(activity.is_own & activity.of_user_data)
    calls, rank, meeting = pricing.of_ranks(io_calls)
    nothing = calls[:0], np.empty(0), np.empty((len(activity.ranks), 0))
    if len(activity.ranks) < 2 or len(calls) == 0:
        return nothing
    io = pricing.by_meeting(calls)
    of_rank = io.sum(1)
    if (of_rank.max() > UNEQUAL * of_rank.mean()) == take_turns or of_rank.max() >= MOST_OF_ALL * of_rank.sum():
        return nothing
    mean = io.mean(0)
    unequal = io.max(0) > UNEQUAL * mean
    over = np.maximum(io - mean, 0) / np.maximum(io, 1e-12) * unequal
    part = over[rank, meeting]
    chosen = part > 0
    return calls[chosen], activity.seconds[calls[chosen]] * part[chosen], io[:, unequal]
