"""Numbers and verdicts as text, the same for the terminal and the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.results.comparison import Group, Verdict
from tailrace.results.runs import Case, RunResult
from tailrace.statistics import Ratio

MEASURE_NAMES = {
    "return": "time to return",
    "durable": "time to durable",
    "readable": "time to readable",
    "wall": "whole run",
}
MEANINGS = {
    "return": "How long the simulation waited for its output: its phases, execution and sync, on the slowest rank.",
    "durable": "Time to return, plus the fsync of every file and directory of the output, made by the study right after the run.",
    "readable": "Time to return, plus the time from then until xarray has opened the result and read one value of every variable.",
    "wall": "From the start of the launcher to its end.",
}


def ratio_text(ratio: Ratio) -> str:
    return f"{ratio.value:.2f}×"


def interval_text(ratio: Ratio) -> str:
    return "too few repetitions for an interval" if ratio.low == 0.0 else f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"


def group_texts(groups: Sequence[Group]) -> list[str]:
    """A name for each group: its ranks, and those parameters and targets that differ between groups."""
    targets = {group.case.target for group in groups}
    shared = set.intersection(*(set(group.case.parameters) for group in groups)) if groups else set()
    return [_group_text(group.case, len(targets) > 1, shared) for group in groups]


def _group_text(case: Case, with_target: bool, shared: set[tuple[str, str]]) -> str:
    ranks = "1 rank" if case.ranks == 1 else f"{case.ranks} ranks"
    target = [case.target or "the study's folder"] if with_target else []
    return " · ".join([ranks, *target, *(f"{name} = {value}" for name, value in case.parameters if (name, value) not in shared)])


def headline(verdict: Verdict | None) -> str:
    if verdict is None:
        return "No winner: no layout finished and verified everywhere."
    winner, base, what = f"'{verdict.winner.name}'", f"'{verdict.base.name}'", MEASURE_NAMES[verdict.measure]
    if winner != base:
        numbers = f"{ratio_text(verdict.ratio)} as fast as {base}, {interval_text(verdict.ratio)}"
        if verdict.ratio.differs:
            return f"{winner} wins: {what} {numbers}."
        return f"Undecided: keep what you have. By {what}, {winner} was {numbers}."
    if verdict.nearest is None:
        return f"{winner} is the only layout: there is no other {what} to compare with."
    nearest, ratio = verdict.nearest
    numbers = f"{ratio_text(ratio)} as fast, {interval_text(ratio)}"
    if ratio.differs:
        return f"{winner} wins: {what}. The nearest, '{nearest.name}', is {numbers}."
    return f"Undecided: keep what you have. By {what}, '{nearest.name}' was {numbers}, against {winner}."


def level_text(verdict: Verdict | None) -> str:
    if verdict is None or not verdict.level:
        return ""
    names = ", ".join(f"'{name}'" for name in verdict.level)
    return f"With these repetitions, '{verdict.winner.name}' cannot be told apart from {names}."


def selection(verdict: Verdict | None) -> tuple[str, str]:
    """(a caption, lines of tailrace.toml) that select the winner; where native wins, those for the nearest layout."""
    if verdict is None:
        return "", ""
    if not verdict.winner.is_native:
        return f"These lines of tailrace.toml select '{verdict.winner.name}':", verdict.winner.configuration
    if verdict.nearest is None:
        return "", ""
    nearest = verdict.nearest[0]
    return (
        f"Native needs no configuration. These lines of tailrace.toml select '{nearest.name}', the nearest:",
        nearest.configuration,
    )


@dataclass(frozen=True)
class Failures:
    """Failed runs of one layout with the same status and note. The first one is shown."""

    first: RunResult
    count: int


def gather_failures(results: Sequence[RunResult]) -> list[Failures]:
    alike: dict[tuple[str, str, str], list[RunResult]] = {}
    for result in results:
        if not result.ok:
            alike.setdefault((result.case.layout.name, result.status, result.note), []).append(result)
    return [Failures(runs[0], len(runs)) for runs in alike.values()]


def program_lines(stderr: str) -> list[str]:
    """The program's own lines: without mpirun's banners, backtraces and repetitions by other ranks."""
    kept: list[str] = []
    lines = stderr.splitlines()
    # An odd number of dashed lines: one end of a banner was cut off, or a line is the program's own. Then nothing is taken for a
    # banner.
    has_banners = sum(line.startswith("-----") for line in lines) % 2 == 0
    in_banner = False
    for line in lines:
        if line.startswith("-----"):
            in_banner = has_banners and not in_banner
        elif not in_banner and line.strip() and line not in kept and not re.match(r"#\d+ |\s+at |Error termination", line):
            kept.append(line)
    return kept
