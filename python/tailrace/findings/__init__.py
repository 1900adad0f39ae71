"""Why a run was slow, in seconds of its wall clock. Each cause is a rule: a file of `rules/`.

A finding is an estimate: the time that the run would save if its cause were gone, computed from the run's own calls. Seconds that
several findings count are counted once in the sum of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailrace.findings.files import files_of
from tailrace.findings.finding import Cause, Finding, Rule
from tailrace.findings.price import Pricing
from tailrace.findings.rules import RULES
from tailrace.trace.activity import NONE, Activity

LEAST_SHARE = 0.01  # of the run: a finding that costs less is left out
LEAST_S = 0.005
MOST_FILES = 3  # that a finding names
OVERLAP = 0.2  # findings overlap where they share so much of the smaller one's seconds


@dataclass(frozen=True)
class Verdict:
    duration_s: float
    io_s: float  # of the wall clock: how much sooner the run would end if no I/O call took time
    findings: Sequence[Finding]  # the most expensive first
    found_s: float  # of all findings together, each second once
    ranks: int
    processes: int
    counted_calls: int  # calls that are only counted, of which findings know nothing


def verdict_of(activity: Activity, rules: Sequence[Rule] = RULES) -> Verdict:
    pricing = Pricing(activity)
    own = np.flatnonzero(activity.is_own)
    duration = activity.duration_s
    io_s = min(pricing.seconds(own), duration)
    causes = [(rule, cause) for rule in rules if (cause := rule.find(activity, pricing)) is not None and len(cause.calls)]
    priced = [(rule, cause, min(pricing.seconds(cause.calls, cause.saved_s), io_s)) for rule, cause in causes]
    priced = [each for each in priced if each[2] >= max(LEAST_S, LEAST_SHARE * duration)]
    priced.sort(key=lambda each: -each[2])
    most = np.zeros(len(activity.begin))
    for _, cause, _ in priced:
        most[cause.calls] = np.maximum(most[cause.calls], cause.saved_s)
    touched = np.flatnonzero(most)
    found_s = min(pricing.seconds(touched, most[touched]), io_s) if len(touched) else 0.0
    overlaps = _overlaps(priced, len(activity.begin))
    findings = [_finding(activity, rule, cause, seconds, overlaps[rule.NAME]) for rule, cause, seconds in priced]
    return Verdict(duration, io_s, findings, found_s, len(activity.ranks), len(activity.processes), activity.counted_calls)


def _finding(activity: Activity, rule: Rule, cause: Cause, seconds: float, overlaps: Sequence[str]) -> Finding:
    calls = cause.calls
    processes = np.unique(activity.process[calls]).tolist()
    ranks = sorted({activity.processes[k].rank for k in processes} - {NONE})
    return Finding(
        rule.NAME,
        rule.TITLE,
        seconds,
        seconds / activity.duration_s if activity.duration_s else 0.0,
        cause.what,
        cause.how,
        cause.remedy,
        tuple(cause.lines),
        cause.confidence,
        int(activity.count[calls].sum()),
        files_of(activity, calls, MOST_FILES),
        ranks,
        float(activity.begin[calls].min()),
        float(activity.end[calls].max()),
        overlaps,
    )


def _overlaps(priced: Sequence[tuple[Rule, Cause, float]], rows: int) -> dict[str, Sequence[str]]:
    """By rule: the rules that count some of the same seconds."""
    found: dict[str, list[str]] = {rule.NAME: [] for rule, _, _ in priced}
    for k, (rule, cause, _) in enumerate(priced):
        saved = np.zeros(rows)
        saved[cause.calls] = cause.saved_s
        for other, its, _ in priced[:k]:
            shared = float(np.minimum(saved[its.calls], its.saved_s).sum())
            if shared > OVERLAP * min(float(cause.saved_s.sum()), float(its.saved_s.sum())):
                found[rule.NAME].append(other.NAME)
                found[other.NAME].append(rule.NAME)
    return {name: tuple(others) for name, others in found.items()}
