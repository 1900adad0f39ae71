"""The matrix as the list of runs in the order in which they are made. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

from tailrace.study.values import WARM_UP, Case, StudySpec


def settings_of(spec: StudySpec) -> list[Case]:
    """Every point of the matrix once; layouts vary fastest, so that runs that are compared are neighbours in time."""
    points = itertools.product(spec.parameters, spec.targets, spec.ranks, spec.layouts)
    return [Case(spec.application.name, ranks, layout, target, parameters, WARM_UP) for parameters, target, ranks, layout in points]


def plan_cases(spec: StudySpec) -> list[Case]:
    """Warm-up rounds, then a round for each repetition. Rounds go A B C, B C A, C A B: no layout always follows the same one
    or is always first, so drift and the cache the previous run left behind do not favour any."""
    settings = settings_of(spec)
    cases: list[Case] = []
    for repetition in range(1 - spec.warm_up, spec.repetitions + 1):
        start = (repetition + spec.warm_up - 1) % len(settings)
        for setting in settings[start:] + settings[:start]:
            cases.append(_repeat(setting, repetition))
    return cases


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
