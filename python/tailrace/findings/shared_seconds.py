"""Seconds that several causes share, because they count the same calls, or a library's call and the calls within it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.findings.finding import Cause
from tailrace.trace.activity import NONE, Activity, Array, keys_of

OVERLAP = 0.2  # two causes overlap if they share more than this part of the seconds of the smaller one


class SharedSeconds:
    """`calls`: the calls of all causes. `saved_s`: the seconds that each would save without any cause; no second counts twice."""

    def __init__(self, activity: Activity, causes: Sequence[Cause]) -> None:
        touched = np.zeros(len(activity.begin), bool)
        for cause in causes:
            touched[cause.calls] = True
        self.calls = np.flatnonzero(touched)
        self._parent = _parents(activity, self.calls)
        self._saved = np.zeros((len(causes), len(self.calls)))
        for row, cause in zip(self._saved, causes, strict=True):
            row[np.searchsorted(self.calls, cause.calls)] = cause.saved_s
        most = self._saved.max(0, initial=0.0)
        made = self._made(most)
        inner = self._parent != NONE
        self.saved_s = np.where(inner, 0.0, np.maximum(most, np.minimum(made, activity.seconds[self.calls])))

    def overlaps(self) -> list[list[int]]:
        """For each cause: the numbers of the other causes with which it shares seconds."""
        found: list[list[int]] = [[] for _ in self._saved]
        made = [self._made(row) for row in self._saved]
        sums = self._saved.sum(1)
        for one, of_one in enumerate(self._saved):
            for other, of_other in enumerate(self._saved[:one]):
                shared = np.minimum(of_one, of_other) + np.minimum(of_one, made[other]) + np.minimum(made[one], of_other)
                if shared.sum() > OVERLAP * min(sums[one], sums[other]):
                    found[one].append(other)
                    found[other].append(one)
        return found

    def _made(self, saved_s: Array) -> Array:
        """For each call: the sum of `saved_s` of the calls that it made."""
        inner = np.flatnonzero(self._parent != NONE)
        return np.bincount(self._parent[inner], saved_s[inner], minlength=len(self.calls))


def _parents(activity: Activity, calls: Array) -> Array:
    """For each of `calls`: the position in `calls` of the library's call that made it, or NONE."""
    parent = np.full(len(calls), NONE)
    outermost = activity.is_outermost[calls]
    if not len(calls) or outermost.all() or not outermost.any():
        return parent
    thread = keys_of(activity.process[calls], activity.thread[calls])
    order = np.lexsort((~outermost, activity.begin[calls], thread))
    last = np.maximum.accumulate(np.where(outermost[order], np.arange(len(order)), NONE))
    candidate = order[np.maximum(last, 0)]
    ends = activity.end[calls]
    is_made = ~outermost[order] & (last >= 0) & (thread[candidate] == thread[order]) & (ends[order] <= ends[candidate])
    parent[order[is_made]] = candidate[is_made]
    return parent
