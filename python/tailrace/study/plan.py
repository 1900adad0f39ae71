"""The matrix as the list of runs in the order in which they are made. Pure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping, Sequence

from tailrace.study.values import WARM_UP, Case, StudySpec


def settings_of(spec: StudySpec) -> list[Case]:
    """Every point of the matrix once; layouts vary fastest."""
    points = itertools.product(spec.parameters, spec.targets, spec.ranks, spec.layouts)
    return [Case(spec.application.name, ranks, layout, target, parameters, WARM_UP) for parameters, target, ranks, layout in points]


def plan_cases(spec: StudySpec) -> list[Case]:
    """Warm-up rounds, then a round for each repetition. Within a round the layouts of a group follow each other, so that runs that
    are compared are neighbours in time; their order, and that of the groups, is drawn for each round, with a fixed seed: what a run
    leaves behind, a busy device or another's cache, meets all of them, not always the one that is next in the study file."""
    groups = [list(cases) for _, cases in itertools.groupby(settings_of(spec), key=lambda case: case.group)]
    planned: list[Case] = []
    for repetition in range(1 - spec.warm_up, spec.repetitions + 1):
        order = random.Random(repetition)
        for group in order.sample(groups, len(groups)):
            planned += [_repeat(setting, repetition) for setting in order.sample(group, len(group))]
    return planned


def cases_left(cases: Sequence[Case], finished: Collection[str]) -> list[Case]:
    return [case for case in cases if case.key not in finished]


def remaining_s(left: Sequence[Case], spent_s: Mapping[str, Sequence[float]]) -> float | None:
    """Expected seconds for the cases left, from the seconds that runs of the same setting took (all runs for settings
    not seen yet); None before the first run. `spent_s` is by the setting's key."""
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
