"""Unequal I/O time of ranks, for three rules: the same rank always does more I/O, or is slower for its I/O, or ranks take turns."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from tailrace.findings.alone import MOST_OF_ALL
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity, Array, keys_of

UNEQUAL = 1.5  # ranks are unequal if one has more than this many times the mean of all
NEGLIGIBLE = 0.01  # a smaller part of a rank's time above what it should take is noise, or rounding
EXPLAINS = 0.5  # calls and bytes explain the time of a rank if they are this part as far above the mean as its time


class Kind(enum.Enum):
    MORE = "the same rank always makes more calls, or moves more bytes"
    SLOWER = "the same rank always takes longer for its calls and bytes"
    TURNS = "another rank makes more calls each time, or moves more bytes"


@dataclass(frozen=True)
class UnequalIo:
    calls: Array  # of ranks whose I/O takes longer than it should
    saved_s: Array  # for each call: its seconds above those that it should take
    meetings: int  # before so many meetings ranks are unequal
    rank: int  # the one with most time in I/O
    ratio: (
        float  # its time over the mean of all ranks; of Kind.SLOWER: its time for its calls and bytes over that of the median rank
    )


def unequal_io(activity: Activity, pricing: Pricing, kind: Kind) -> UnequalIo | None:
    """None if the I/O of ranks is not unequal, or in another way, or if one rank does all of it."""
    calls, rank, meeting = pricing.of_ranks(np.flatnonzero(activity.is_own & activity.of_user_data))
    if len(activity.ranks) < 2 or len(calls) == 0:
        return None
    io = pricing.by_meeting(calls)
    amounts = _amounts(activity, calls, rank, meeting, io.shape)
    of_rank, amount_of_rank = io.sum(1), amounts.sum(1)
    mean = io.mean(0)
    if (of_rank.max() > UNEQUAL * of_rank.mean()) == (kind is Kind.TURNS):
        return None
    if kind is not Kind.TURNS and bool(_explained(of_rank, amount_of_rank)) != (kind is Kind.MORE):
        return None
    if kind is not Kind.SLOWER and of_rank.max() >= MOST_OF_ALL * of_rank.sum():
        return None
    unequal = io.max(0) > UNEQUAL * mean
    if kind is Kind.TURNS:
        unequal &= _explained(io, amounts)
    slowest = int(of_rank.argmax())
    ratio, due = of_rank[slowest] / of_rank.mean(), mean
    if kind is Kind.SLOWER:
        # RATIONALE: one slow rank makes the mean larger, and so the claim too small. The median of two is the faster one.
        speeds = of_rank / np.maximum(amount_of_rank, 1e-12)
        speed = float(np.quantile(speeds[amount_of_rank > 0], 0.5, method="lower"))
        ratio, due = speeds[slowest] / max(speed, 1e-12), amounts * speed
    over = np.maximum(io - due, 0) / np.maximum(io, 1e-12) * unequal
    part = over[rank, meeting]
    chosen = part > NEGLIGIBLE
    if not chosen.any():
        return None
    found = calls[chosen]
    number = activity.processes[activity.ranks[slowest]].rank
    return UnequalIo(found, activity.seconds[found] * part[chosen], int(unequal.sum()), number, float(ratio))


def _explained(io: Array, amounts: Array) -> Array:
    """Whether the amounts explain that the slowest rank has more time in I/O than the mean. Ranks are the first axis."""
    slowest = io.argmax(0)[np.newaxis]
    above = [np.take_along_axis(of, slowest, 0)[0] / np.maximum(of.mean(0), 1e-12) - 1 for of in (io, amounts)]
    return np.asarray(above[1] >= EXPLAINS * above[0])


def _amounts(activity: Activity, calls: Array, rank: Array, meeting: Array, shape: tuple[int, ...]) -> Array:
    """What ranks do before each meeting, in seconds at the mean speed of all ranks: [rank, meeting]. The seconds of each call name
    are shared by the numbers of calls or by bytes: of both, the larger share of a rank counts."""
    like = keys_of(activity.call[calls], meeting)
    cell = keys_of(like, rank)
    _, first = np.unique(cell, return_index=True)
    shares = []
    for weights in (activity.count[calls], np.maximum(activity.moved[calls], 0)):
        of_all = np.bincount(like, weights)[like[first]]
        shares.append(np.bincount(cell, weights) / np.maximum(of_all, 1))
    seconds = np.bincount(like, activity.seconds[calls])[like[first]]
    at = rank[first] * np.int64(shape[1]) + meeting[first]
    return np.bincount(at, np.maximum(*shares) * seconds, shape[0] * shape[1]).reshape(shape)
