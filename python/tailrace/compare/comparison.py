"""All rounds of a comparison, and what they say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tailrace.compare.copies import Copies
from tailrace.compare.outputs import Difference, Directories, difference_of
from tailrace.compare.turns import PLACED, PLAIN, WAYS, Command, Turn, make_turn
from tailrace.quantities import seconds_text
from tailrace.report.wording import interval_text, ratio_text
from tailrace.statistics import TICK_S, Ratio, Spread, paired_ratio

ROUNDS = 5  # fewer give no interval


@dataclasses.dataclass(frozen=True)
class Measure:
    """A time of both ways, in all rounds."""

    name: str
    runs: tuple[tuple[float, float], ...]  # plain and placed of each round

    @property
    def spreads(self) -> tuple[Spread, Spread]:
        plain, placed = zip(*self.runs, strict=True)
        return Spread.of(plain), Spread.of(placed)

    @property
    def ratio(self) -> Ratio:
        """Above 1: placed is faster."""
        found = paired_ratio([np.maximum(np.array(self.runs, float), TICK_S)])
        assert found is not None
        return found

    def to_json(self) -> dict[str, Any]:
        ratio = self.ratio
        plain, placed = (dataclasses.asdict(spread) for spread in self.spreads)
        interval = [ratio.low, ratio.high] if math.isfinite(ratio.high) else None
        return {
            PLAIN: plain,
            PLACED: placed,
            "ratio": ratio.value,
            "interval": interval,
            "differs": ratio.differs,
            "runs": [list(pair) for pair in self.runs],
        }


@dataclasses.dataclass(frozen=True)
class Comparison:
    command: Command
    measures: tuple[Measure, ...]
    directories: tuple[Directories, Directories]
    difference: Difference
    outside: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def rounds(self) -> int:
        return len(self.measures[0].runs)

    def to_json(self) -> dict[str, Any]:
        return {
            "command": list(self.command.words),
            "config": str(self.command.config),
            "rounds": self.rounds,
            "verdict": verdict_text(self.measures[0]),
            "measures": {measure.name: measure.to_json() for measure in self.measures},
            "directories": {way: found.to_json() for way, found in zip(WAYS, self.directories, strict=True)},
            "files": {"identical": self.difference.is_none, **dataclasses.asdict(self.difference)},
            "written_outside": list(self.outside),
            "notes": list(self.notes),
        }


def verdict_text(measure: Measure) -> str:
    """One sentence about the time of the program."""
    plain, placed = measure.spreads
    ratio = measure.ratio
    interval = interval_text(ratio)
    if math.isinf(ratio.high):
        return f"Undecided: {ratio_text(ratio)} as fast when placed, but fewer than {ROUNDS} rounds give no interval."
    if not ratio.differs:
        return f"No measurable difference: {ratio_text(ratio)} as fast when placed, {interval}."
    times = f"{seconds_text(placed.median)} instead of {seconds_text(plain.median)}"
    return f"The run takes {times} when placed: {ratio_text(ratio)} as fast, {interval}."


def compare(command: Command, copies: Copies, rounds: int, tell: Callable[[str], None], *, recorded: bool = True) -> Comparison:
    """Runs the command by turns. `tell` is called with each line of progress. Raises CompareError."""
    tell("a first run of each way, which is recorded and does not count")
    first = {way: make_turn(command, copies, way, recorded=True) for way in WAYS}
    took_s = sum(turn.wall_s for turn in first.values())
    tell(f"{rounds} rounds of two runs take about {seconds_text(rounds * took_s)}, and the time to copy and compare files")
    turns: dict[str, list[Turn]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in WAYS if number % 2 == 0 else reversed(WAYS):  # the second of a round may find other caches
            turns[way].append(make_turn(command, copies, way, recorded=recorded))
        tell(f"round {number + 1} of {rounds}: " + ", ".join(f"{way} {seconds_text(turns[way][-1].wall_s)}" for way in WAYS))
    pairs = list(zip(turns[PLAIN], turns[PLACED], strict=True))
    measures = [Measure("time", tuple((one.wall_s, other.wall_s) for one, other in pairs))]
    in_calls = [(one.calls_s, other.calls_s) for one, other in pairs if one.calls_s is not None and other.calls_s is not None]
    if len(in_calls) == rounds:
        measures.append(Measure("time in calls on files", tuple(in_calls)))
    every = {way: [first[way], *turns[way]] for way in WAYS}
    both = [turn for way in WAYS for turn in every[way]]
    return Comparison(
        command,
        tuple(measures),
        (first[PLAIN].outputs.directories, first[PLACED].outputs.directories),
        difference_of([turn.outputs for turn in every[PLAIN]], [turn.outputs for turn in every[PLACED]], copies.source),
        tuple(sorted({name for turn in both for name in turn.outside})),
        tuple(dict.fromkeys(note for turn in both for note in turn.notes)),
    )
