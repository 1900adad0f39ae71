"""From results to verdicts: repetitions summarised, layouts compared with intervals, the winner. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailrace.results.runs import NATIVE, Case, LayoutChoice, Phase, RunResult
from tailrace.statistics import TICK_S, Ratio, Spread, paired_ratio


@dataclass(frozen=True)
class Summary:
    """All counted repetitions of one setting."""

    case: Case  # without repetition
    runs: tuple[RunResult, ...]  # verified runs
    failed: int

    @property
    def layout(self) -> LayoutChoice:
        return self.case.layout

    def spread(self, measure: str) -> Spread | None:
        values = [value for run in self.runs if (value := run.measure(measure)) is not None]
        return Spread.of(values) if values else None

    @property
    def bytes(self) -> int:
        return int(statistics.median(run.stored.bytes for run in self.runs)) if self.runs else 0

    @property
    def files(self) -> int:
        return int(statistics.median(run.stored.files for run in self.runs)) if self.runs else 0

    @property
    def cpu_s(self) -> float:
        return statistics.median(run.times.user_s + run.times.system_s for run in self.runs) if self.runs else 0.0

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The median of each phase, over the runs that have it."""
        names = list(dict.fromkeys(phase.name for run in self.runs for phase in run.phases))
        medians = []
        for name in names:
            found = [phase for run in self.runs for phase in run.phases if phase.name == name]
            exec_s, sync_s = (statistics.median(getattr(phase, key) for phase in found) for key in ("exec_s", "sync_s"))
            medians.append(Phase(name, exec_s, sync_s))
        return tuple(medians)


@dataclass(frozen=True)
class Group:
    """Settings that are compared with each other: they differ in layout only."""

    case: Case
    summaries: tuple[Summary, ...]

    def of(self, layout: str) -> Summary | None:
        return next((summary for summary in self.summaries if summary.layout.name == layout), None)


@dataclass(frozen=True)
class Verdict:
    """The fastest layout over all groups, by the geometric mean of its ratios to the base."""

    measure: str
    winner: LayoutChoice
    base: LayoutChoice  # native, or the first layout where native is not in the study
    ratio: Ratio  # the winner against the base
    nearest: tuple[LayoutChoice, Ratio] | None  # the best of the others, against the base
    level: tuple[str, ...]  # layouts with no measurable difference from the winner


def summarize(results: Sequence[RunResult]) -> list[Group]:
    """Groups and layouts by target, parameters and ranks, native first. `results` hold no warm-up runs but failed ones."""
    runs: dict[Case, list[RunResult]] = defaultdict(list)
    for result in results:
        runs[result.case.setting].append(result)
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for case, repetitions in runs.items():
        good = tuple(sorted((run for run in repetitions if run.ok), key=lambda run: run.case.repetition))
        groups[case.group].append(Summary(case, good, len(repetitions) - len(good)))
    ordered = sorted(groups.values(), key=lambda found: (found[0].case.target, found[0].case.parameters, found[0].case.ranks))
    return [Group(found[0].case, tuple(sorted(found, key=_native_first))) for found in ordered]


def _native_first(summary: Summary) -> bool:
    return not summary.layout.is_native


def ratio_between(base: Summary, other: Summary, measure: str, seed: int = 1) -> Ratio | None:
    """Paired by repetition, because the runs of a round are neighbours in time."""
    return combined_ratio([(base, other)], measure, seed)


def combined_ratio(pairs: Sequence[tuple[Summary, Summary]], measure: str, seed: int = 1) -> Ratio | None:
    """The geometric mean over several pairs of the ratio of medians; None where a pair has no common repetition."""
    return paired_ratio([_paired(base, other, measure) for base, other in pairs], seed)


def _paired(base: Summary, other: Summary, measure: str) -> np.ndarray:
    first = {run.case.repetition: run.measure(measure) for run in base.runs}
    second = {run.case.repetition: run.measure(measure) for run in other.runs}
    rounds = sorted(set(first) & set(second))
    rows = [(first[number], second[number]) for number in rounds]
    return np.array([(max(a, TICK_S), max(b, TICK_S)) for a, b in rows if a is not None and b is not None]).reshape(-1, 2)


def judge(groups: Sequence[Group], measure: str) -> Verdict | None:
    """None when no layout has results everywhere. A layout with a failed run anywhere cannot win."""
    sound = [name for name in _layout_names(groups) if all((s := group.of(name)) and s.runs and not s.failed for group in groups)]
    sound = [name for name in sound if all(group.of(name).spread(measure) for group in groups)]  # type: ignore[union-attr]
    if not sound:
        return None
    base = NATIVE if NATIVE in sound else sound[0]
    ratios = {name: ratio for name in sound if (ratio := _over_groups(groups, base, name, measure)) is not None}
    if not ratios:
        return None
    winner = max(ratios, key=lambda name: ratios[name].value)
    level = []
    for name in ratios:
        against = _over_groups(groups, name, winner, measure)
        if name != winner and against is not None and not against.differs:
            level.append(name)
    others = [name for name in ratios if name not in (winner, base)]
    best = max(others, key=lambda name: ratios[name].value) if others else None
    nearest = (_layout(groups, best), ratios[best]) if best else None
    return Verdict(measure, _layout(groups, winner), _layout(groups, base), ratios[winner], nearest, tuple(level))


def _over_groups(groups: Sequence[Group], base: str, other: str, measure: str) -> Ratio | None:
    pairs = [(group.of(base), group.of(other)) for group in groups]
    return combined_ratio([(a, b) for a, b in pairs if a is not None and b is not None], measure)


def _layout_names(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(summary.layout.name for group in groups for summary in group.summaries))


def _layout(groups: Sequence[Group], name: str) -> LayoutChoice:
    return next(summary.layout for group in groups for summary in group.summaries if summary.layout.name == name)
