"""Runs all rounds of a comparison, and computes its verdict."""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.compare.contents import ContentReader
from tailrace.compare.copies import Copies
from tailrace.compare.differences import Difference, difference_of
from tailrace.compare.kept import lines_to_keep
from tailrace.compare.outputs import Directories
from tailrace.compare.turns import PLACED, PLAIN, WAYS, Command, Turn, check_stage, make_turn
from tailrace.findings.rules import PLACING
from tailrace.machine.facts import remembers_removed
from tailrace.place.rules import read_rules
from tailrace.quantities import seconds_text
from tailrace.report.wording import interval_text, ratio_text
from tailrace.statistics import TICK_S, Ratio, Spread, paired_ratio

ROUNDS = 5  # fewer give no interval
DURABLE, PROGRAM, IN_CALLS = "time until files are on the device", "time of the program", "time in calls on files"
TREE_RULES = [rule for rule, by in PLACING.items() if by == "tree"]


@dataclasses.dataclass(frozen=True)
class Measure:
    """A time in seconds, of the plain and the placed run of each round."""

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
    measures: tuple[Measure, ...]  # first DURABLE, then PROGRAM, then IN_CALLS if it is known
    claimed_s: Mapping[str, float]  # rule -> seconds that the finding claims to save, the median over the plain runs
    keep: str  # lines of configuration to keep; empty if placed runs are not faster
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
            "verdict": verdict_text(*self.measures[:2]),
            "measures": {measure.name: measure.to_json() for measure in self.measures},
            "claimed_s": dict(self.claimed_s),
            "keep": self.keep,
            "directories": {way: found.to_json() for way, found in zip(WAYS, self.directories, strict=True)},
            "files": {"identical": self.difference.is_none, **dataclasses.asdict(self.difference)},
            "written_outside": list(self.outside),
            "notes": list(self.notes),
        }


def verdict_text(durable: Measure, program: Measure) -> str:
    """One sentence: the time until files are on the device, and the time of the program."""
    ratio = durable.ratio
    if math.isinf(ratio.high):
        return (
            f"Undecided: when placed, files are on the device {ratio_text(ratio)} as fast, the program takes {_times(program)}; "
            f"but fewer than {ROUNDS} rounds give no interval."
        )
    if not ratio.differs:
        return (
            f"No measurable difference: when placed, files are on the device {ratio_text(ratio)} as fast, {interval_text(ratio)}; "
            f"{_beside(program)}."
        )
    shown = f"{ratio_text(ratio)} as fast, {interval_text(ratio)}"
    return f"When placed, files are on the device after {_times(durable)}: {shown}; {_beside(program)}."


def _times(measure: Measure) -> str:
    plain, placed = measure.spreads
    return f"{seconds_text(placed.median)} instead of {seconds_text(plain.median)}"


def _beside(program: Measure) -> str:
    ratio = program.ratio
    sign = "" if ratio.differs else "not measurably other, "
    return f"the program takes {_times(program)}: {sign}{ratio_text(ratio)} as fast, {interval_text(ratio)}"


def compare(command: Command, copies: Copies, rounds: int, tell: Callable[[str], None], *, recorded: bool = True) -> Comparison:
    """Runs the command by turns. `tell` is called with each line of progress. Raises CompareError."""
    check_stage(command, copies.source, recorded=recorded)
    tell("a first run of each way, which is recorded and does not count")
    with ContentReader() as reader:
        began = time.monotonic()
        plain = make_turn(command, copies, PLAIN, reader, None, recorded=True)
        first = {PLAIN: plain, PLACED: make_turn(command, copies, PLACED, reader, plain.outputs, recorded=True)}
        took_s = time.monotonic() - began
        tell(f"{rounds} rounds of two runs take about {seconds_text(rounds * took_s)}, with copying and comparing files")
        turns: dict[str, list[Turn]] = {way: [] for way in WAYS}
        for number in range(rounds):
            for way in (
                WAYS if number % 2 == 0 else reversed(WAYS)
            ):  # alternates, because the first run of a round may leave data in caches for the second
                turns[way].append(make_turn(command, copies, way, reader, plain.outputs, recorded=recorded))
            each = ", ".join(f"{way} {seconds_text(turns[way][-1].durable_s)}" for way in WAYS)
            tell(f"round {number + 1} of {rounds}: {each}")
        every = {way: [first[way], *turns[way]] for way in WAYS}
        outputs = {way: [turn.outputs for turn in every[way]] for way in WAYS}
        difference = difference_of(outputs[PLAIN], outputs[PLACED], copies.source, reader.read)
    both = [turn for way in WAYS for turn in every[way]]
    measures = _measures(list(zip(turns[PLAIN], turns[PLACED], strict=True)))
    is_better = difference.is_none and measures[0].ratio.low > 1
    return Comparison(
        command,
        measures,
        _claimed_s(every[PLAIN]) if read_rules(copies.source / command.config) else {},
        lines_to_keep(copies.source / command.config) if is_better else "",
        (first[PLAIN].outputs.directories, first[PLACED].outputs.directories),
        difference,
        tuple(sorted({name for turn in both for name in turn.outside})),
        tuple(dict.fromkeys([note for turn in both for note in turn.notes] + _notes_of(copies.folder))),
    )


def _notes_of(folder: Path) -> list[str]:
    if not remembers_removed(folder):
        return []
    return [
        "This file system is ext4 without a journal: if many files were removed on it in the minutes before, plain runs take "
        "longer than they do otherwise; compare again after ten minutes"
    ]


def _measures(pairs: list[tuple[Turn, Turn]]) -> tuple[Measure, ...]:
    found = [
        Measure(DURABLE, tuple((one.durable_s, other.durable_s) for one, other in pairs)),
        Measure(PROGRAM, tuple((one.program_s, other.program_s) for one, other in pairs)),
    ]
    in_calls = [(one.calls_s, other.calls_s) for one, other in pairs if one.calls_s is not None and other.calls_s is not None]
    if len(in_calls) == len(pairs):
        found.append(Measure(IN_CALLS, tuple(in_calls)))
    return tuple(found)


def _claimed_s(plain: list[Turn]) -> dict[str, float]:
    found: dict[str, float] = {}
    for rule in TREE_RULES:
        if claimed := [turn.claimed_s[rule] for turn in plain if rule in turn.claimed_s]:
            found[rule] = statistics.median(claimed)
    return found
