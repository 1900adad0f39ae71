"""A finding, and what a rule is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity, Array

Confidence = Literal["high", "medium", "low"]
Placing = Literal["tree", "stage"]  # rules of tailrace.toml by which a cause goes, with the program as it is


@dataclass(frozen=True)
class Cause:
    """What a rule has found: calls, how much sooner each would end without the cause, and words about it."""

    calls: Array  # indices of rows of the activity
    saved_s: Array  # of each call, at most its time
    what: str  # the cause, as a sentence without its cost
    how: str  # how the seconds were computed
    remedy: str  # what to do, as a sentence
    lines: Sequence[str] = ()  # of configuration or of code
    confidence: Confidence = "medium"


class Rule(Protocol):
    """A module of `rules/`."""

    NAME: str  # such as small_writes
    TITLE: str

    def find(self, activity: Activity, pricing: Pricing) -> Cause | None: ...


@dataclass(frozen=True)
class Finding:
    rule: str
    title: str
    seconds: float  # of the run's wall clock
    share: float  # of the run
    what: str
    how: str
    remedy: str
    lines: Sequence[str]
    confidence: Confidence
    calls: int
    files: Sequence[str]  # those with most calls
    ranks: Sequence[int]  # those with calls; of processes without ranks: none
    begin_s: float
    end_s: float
    overlaps: Sequence[str]  # rules that count some of the same seconds
