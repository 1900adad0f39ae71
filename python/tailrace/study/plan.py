"""The matrix as a list of runs in the order in which they are made. Pure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping, Sequence

from tailrace.results.runs import WARM_UP, Case, RunResult
from tailrace.study.values import StudySpec


def settings_of(spec: StudySpec) -> list[Case]:
    """Every point of the matrix once; layouts vary fastest."""
    matrix = spec.matrix
    points = itertools.product(matrix.parameters, matrix.targets, matrix.ranks, matrix.layouts)
    return [Case(spec.application.name, ranks, layout, target, parameters, WARM_UP) for parameters, target, ranks, layout in points]


def plan_cases(spec: StudySpec) -> list[Case]:
    """Warm-up rounds, then a round for each repetition.

    Within a round the layouts of a group follow each other, so that compared runs are neighbours in time. Their order and that of
    the groups is drawn for each round, with a fixed seed. A run leaves a busy device or a full cache behind: so this meets all
    layouts alike, and not always the next one of the study file.
    """
    groups = [list(cases) for _, cases in itertools.groupby(settings_of(spec), key=lambda case: case.group)]
    planned: list[Case] = []
    for repetition in range(1 - spec.warm_up, spec.repetitions + 1):
        order = random.Random(repetition)
        for group in order.sample(groups, len(groups)):
            planned += [_repeat(setting, repetition) for setting in order.sample(group, len(group))]
    return planned


def cases_left(cases: Sequence[Case], finished: Collection[str], stopped: Collection[str] = ()) -> list[Case]:
    """`finished`: keys of cases. `stopped`: names of layouts of which no more runs are made."""
    return [case for case in cases if case.key not in finished and case.layout.name not in stopped]


def stopped_layouts(cases: Sequence[Case], results: Sequence[RunResult]) -> list[str]:
    """Layouts with a warm-up round in which every planned run has failed: nothing of them can succeed."""
    good = {result.case.key: result.ok for result in results}
    rounds: dict[tuple[str, int], list[bool | None]] = {}
    for case in cases:
        if case.warm_up:
            rounds.setdefault((case.layout.name, case.repetition), []).append(good.get(case.key))
    return list(dict.fromkeys(name for (name, _), ok in rounds.items() if all(one is False for one in ok)))


def remaining_s(left: Sequence[Case], spent_s: Mapping[str, Sequence[float]]) -> float | None:
    """Expected seconds for the cases that are left; None before the first run. `spent_s`: the seconds of the runs so far, by their
    setting's key. A setting without a run is expected to take the mean of all runs."""
    everything = [seconds for runs in spent_s.values() for seconds in runs]
    if not everything:
        return None
    mean_s = sum(everything) / len(everything)
    total_s = 0.0
    for case in left:
        runs = spent_s.get(case.setting.key)
        total_s += sum(runs) / len(runs) if runs else mean_s
    return total_s


def _repeat(setting: Case, repetition: int) -> Case:
    return Case(setting.application, setting.ranks, setting.layout, setting.target, setting.parameters, repetition)
