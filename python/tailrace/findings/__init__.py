"""Why a run was slow, in seconds of its wall clock. Each kind of cause has a rule: a file of `rules/`.

A finding is an estimate: the time that the run would save without its cause, computed from the run's own calls. Seconds that
several findings count are counted once in the sum of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailrace.findings.files import files_of
from tailrace.findings.finding import Cause, Finding, Rule
from tailrace.findings.messages import gathering
from tailrace.findings.price import Pricing
from tailrace.findings.rules import RULES
from tailrace.findings.shared_seconds import SharedSeconds
from tailrace.trace.activity import NONE, Activity

LEAST_SHARE = 0.01  # of the run: a finding that costs less is left out
LEAST_S = 0.005
MOST_FILES = 3  # files that a finding names


@dataclass(frozen=True)
class Verdict:
    duration_s: float
    io_s: float  # of the wall clock: how much sooner the run would end if no I/O call took time
    findings: Sequence[Finding]  # the most expensive first
    found_s: float  # of all findings together, each second once
    ranks: int
    processes: int
    counted_calls: int  # calls that are only counted: findings do not include them
    gathering_s: float = 0.0  # of a rank on average, in messages to or from one rank: not in `io_s`
    gathering_calls: Sequence[str] = ()  # the MPI calls with these seconds


def verdict_of(activity: Activity, rules: Sequence[Rule] = RULES) -> Verdict:
    pricing = Pricing(activity)
    own = np.flatnonzero(activity.is_own)
    duration = activity.duration_s
    io_s = min(pricing.seconds(own), duration)
    causes = [(rule, cause) for rule in rules if (cause := rule.find(activity, pricing)) is not None and len(cause.calls)]
    priced = [(rule, cause, min(pricing.seconds(cause.calls, cause.saved_s), io_s)) for rule, cause in causes]
    priced = [each for each in priced if each[2] >= max(LEAST_S, LEAST_SHARE * duration)]
    priced.sort(key=lambda each: -each[2])
    shared = SharedSeconds(activity, [cause for _, cause, _ in priced])
    found_s = min(pricing.seconds(shared.calls, shared.saved_s), io_s) if len(shared.calls) else 0.0
    overlaps = [tuple(priced[other][0].NAME for other in others) for others in shared.overlaps()]
    findings = [_finding(activity, *each, its) for each, its in zip(priced, overlaps, strict=True)]
    counts = len(activity.ranks), len(activity.processes), activity.counted_calls
    return Verdict(duration, io_s, findings, found_s, *counts, *gathering(activity))


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
