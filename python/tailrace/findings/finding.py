"""The types of findings: a cause, the rule that finds it, and the finding with its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity, Array

Confidence = Literal["high", "medium", "low"]
Placing = Literal["tree", "stage"]  # the kind of rules in tailrace.toml that removes a cause without changing the program

# The beginning of a line of a remedy, for rules with PLACING.
TRY_PLACING = "tailrace run --compare -- COMMAND  # try it with the program as it is (it may not help): "


@dataclass(frozen=True)
class Cause:
    """What a rule has found: calls, how much sooner each would end without the cause, and words about it."""

    calls: Array  # row numbers of the activity
    saved_s: Array  # for each call: seconds that it would save without the cause, at most its own time
    what: str  # the cause, as a sentence without its cost
    how: str  # how the seconds were computed
    remedy: str  # what to do, as a sentence
    lines: Sequence[str] = ()  # lines of configuration or code that carry out the remedy
    confidence: Confidence = "medium"


class Rule(Protocol):
    """What a module of `rules/` must have."""

    NAME: str  # such as small_writes
    TITLE: str

    def find(self, activity: Activity, pricing: Pricing) -> Cause | None: ...


@dataclass(frozen=True)
class Finding:
    rule: str
    title: str
    seconds: float  # of the run's wall clock
    share: float  # fraction of the run's duration
    what: str
    how: str
    remedy: str
    lines: Sequence[str]
    confidence: Confidence
    calls: int
    files: Sequence[str]  # the files on which its calls took most time
    ranks: Sequence[int]  # the ranks that made its calls; empty for processes without ranks
    begin_s: float
    end_s: float
    overlaps: Sequence[str]  # rules that count some of the same seconds
