"""All results of a study, as reports show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.results.runs import RunResult


@dataclass(frozen=True)
class StudySettings:
    """What a study measured, and how."""

    name: str
    title: str
    application: str
    application_title: str
    compare: str  # the measure that decides the winner, one of MEASURES
    ranks: tuple[int, ...]
    steps: int  # output steps of each run
    repetitions: int  # counted rounds over the matrix
    warm_up: int  # rounds that are not counted
    parameters: tuple[tuple[tuple[str, str], ...], ...]  # one entry for each combination
    keep: bool  # whether outputs stay after their verification
    trace: bool  # whether phases come from each run's log


@dataclass(frozen=True)
class StudyResults:
    settings: StudySettings
    machine: Mapping[str, Any]  # tailrace.machine.facts at the study's start; empty before the first run
    results: tuple[RunResult, ...]  # all, in the order in which they were made
    measured: tuple[RunResult, ...]  # those that count
    runs_planned: int
    runs_left: int
    stopped: tuple[str, ...] = ()  # layouts of which no run succeeded in a warm-up round
