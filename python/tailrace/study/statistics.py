"""From results to what is said about them: medians, spreads, ratios with intervals, the winner. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailrace.study.values import NATIVE, Case, LayoutChoice, Phase, RunResult

RESAMPLES = 4000
LEVEL = 0.95
TICK_S = 1e-9  # what took no time that a clock could tell
FEWEST_PAIRS = 5  # of fewer, the interval would hold the true ratio of equal layouts in 76 to 84 % of all studies (simulated)


@dataclass(frozen=True)
class Spread:
    median: float
    low: float  # the fastest and the slowest repetition
    high: float


@dataclass(frozen=True)
class Ratio:
    """How many times as fast: median of the base over median of the other, with its interval; above 1, the base was slower."""

    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        return self.low > 1.0 or self.high < 1.0


@dataclass(frozen=True)
class Summary:
    """All counted repetitions of one setting."""

    case: Case  # without repetition
    runs: tuple[RunResult, ...]  # those that verified
    failed: int

    @property
    def layout(self) -> LayoutChoice:
        return self.case.layout

    def spread(self, measure: str) -> Spread | None:
        values = [value for run in self.runs if (value := run.measure(measure)) is not None]
        return Spread(statistics.median(values), min(values), max(values)) if values else None

    @property
    def bytes(self) -> int:
        return int(statistics.median(run.bytes for run in self.runs)) if self.runs else 0

    @property
    def files(self) -> int:
        return int(statistics.median(run.files for run in self.runs)) if self.runs else 0

    @property
    def cpu_s(self) -> float:
        return statistics.median(run.user_s + run.system_s for run in self.runs) if self.runs else 0.0

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The median of each phase, over the runs that have it."""
        names = list(dict.fromkeys(phase.name for run in self.runs for phase in run.phases))
        made = []
        for name in names:
            found = [phase for run in self.runs for phase in run.phases if phase.name == name]
            exec_s, sync_s = (statistics.median(getattr(phase, key) for phase in found) for key in ("exec_s", "sync_s"))
            made.append(Phase(name, exec_s, sync_s))
        return tuple(made)


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
    level: tuple[str, ...]  # layouts that the winner cannot be told from


def summarize(results: Sequence[RunResult]) -> list[Group]:
    """Groups and layouts by target, parameters and ranks, native first; `results` come without warm-ups."""
    runs: dict[Case, list[RunResult]] = defaultdict(list)
    for result in results:
        runs[result.case.setting].append(result)
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for case, made in runs.items():
        good = tuple(sorted((run for run in made if run.ok), key=lambda run: run.case.repetition))
        groups[case.group].append(Summary(case, good, len(made) - len(good)))
    ordered = sorted(groups.values(), key=lambda found: (found[0].case.target, found[0].case.parameters, found[0].case.ranks))
    return [Group(found[0].case, tuple(sorted(found, key=_native_first))) for found in ordered]


def _native_first(summary: Summary) -> bool:
    return not summary.layout.is_native


def ratio_between(base: Summary, other: Summary, measure: str, seed: int = 1) -> Ratio | None:
    """Paired by repetition, as the runs were made in turn: whole rounds are resampled."""
    return combined_ratio([(base, other)], measure, seed)


def combined_ratio(pairs: Sequence[tuple[Summary, Summary]], measure: str, seed: int = 1) -> Ratio | None:
    """The geometric mean over several pairs of the ratio of medians; None where a pair has no common repetition."""
    tables = [_paired(base, other, measure) for base, other in pairs]
    if not tables or any(len(table) == 0 for table in tables):
        return None
    rng = np.random.default_rng(seed)
    value = _geometric_mean([float(np.median(t[:, 0]) / np.median(t[:, 1])) for t in tables])
    if min(len(table) for table in tables) < FEWEST_PAIRS:
        return Ratio(value, 0.0, float("inf"))
    logs = np.zeros(RESAMPLES)
    for table in tables:
        drawn = table[rng.integers(0, len(table), (RESAMPLES, len(table)))]
        medians = np.median(drawn, axis=1)
        logs += np.log(medians[:, 0] / medians[:, 1]) / len(tables)
    low, high = np.exp(np.quantile(logs, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return Ratio(value, float(low), float(high))


def _paired(base: Summary, other: Summary, measure: str) -> np.ndarray:
    first = {run.case.repetition: run.measure(measure) for run in base.runs}
    second = {run.case.repetition: run.measure(measure) for run in other.runs}
    rounds = sorted(set(first) & set(second))
    rows = [(first[number], second[number]) for number in rounds]
    return np.array([(max(a, TICK_S), max(b, TICK_S)) for a, b in rows if a is not None and b is not None]).reshape(-1, 2)


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


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
