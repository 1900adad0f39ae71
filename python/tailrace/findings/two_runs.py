"""Two runs side by side: what changed in operations, files and findings, and what else differs between them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.findings import Finding, Verdict, verdict_of
from tailrace.quantities import seconds_text
from tailrace.trace.activity import is_software
from tailrace.trace.model import Run
from tailrace.trace.system_files import is_user_data

Sums = Mapping[str, Any]
LIKE = 0.01  # durations that differ by less are called equal
EXPLAINS = 0.05  # a cause is named if it explains at least this share of the difference
SUMS = ("calls", "read_bytes", "written_bytes", "self_ns")
NO_SUMS: Sums = {"calls": 0, "read_bytes": 0, "written_bytes": 0, "self_ns": 0}
GONE, NEW, BOTH = "gone", "new", "both"
MACHINE = {"processor": "processor", "cores": "cores", "memory_bytes": "memory"}


@dataclass(frozen=True)
class Change:
    """Sums of the same operation or files in both runs."""

    name: str
    first: Sums
    second: Sums
    state: str  # GONE, NEW or BOTH

    @property
    def seconds(self) -> float | None:
        """How much more time the second run spent, summed over processes. None where a source cannot tell."""
        times = self.first["self_ns"], self.second["self_ns"]
        return None if None in times else float(times[1] - times[0]) / 1e9


@dataclass(frozen=True)
class FindingChange:
    rule: str
    title: str
    first_s: float  # of the wall clock; 0 without the finding
    second_s: float
    state: str

    @property
    def seconds(self) -> float:
        return self.second_s - self.first_s


@dataclass(frozen=True)
class TwoRuns:
    first_s: float | None
    second_s: float | None
    first_io_s: float | None  # of the wall clock; None where the source has no calls
    second_io_s: float | None
    first_found_s: float | None  # of all findings together, each second once; None as above
    second_found_s: float | None
    findings: Sequence[FindingChange]  # the largest change first
    operations: Sequence[Change]  # one for each kind of call: open, read, write ...
    files: Sequence[Change]  # one for each file
    differences: Sequence[tuple[str, str, str]]  # what differs, its value in the first run, and in the second
    not_compared: Sequence[str]  # why figures are missing


def verdict_or_none(run: Run) -> Verdict | None:
    """The verdict of a run. None if the source has no single calls."""
    if run.activity is None or len(run.activity.begin) == 0:
        return None
    return verdict_of(run.activity)


def compare(first: Run, second: Run) -> TwoRuns:
    """Compares two runs, which must have been read with their single calls if their sources have any."""
    verdicts = [verdict_or_none(run) for run in (first, second)]
    durations = [_duration(run, verdict) for run, verdict in zip((first, second), verdicts, strict=True)]
    both = all(verdict is not None for verdict in verdicts)
    missing = [
        f"{name} has no single calls, so findings are not compared" for name, v in zip("AB", verdicts, strict=True) if v is None
    ]
    for name, run in (("A", first), ("B", second)):
        missing += [f"{name}: {figure} is not known: {why}" for figure, why in run.unknown.items()]
    io_s = [verdict.io_s if verdict and both else None for verdict in verdicts]
    found_s = [verdict.found_s if verdict and both else None for verdict in verdicts]
    findings = [verdict.findings if verdict and both else () for verdict in verdicts]
    operations = [{f"{layer} {kind}": row for (layer, kind), row in run.by_layer_and_kind().items()} for run in (first, second)]
    return TwoRuns(
        first_s=durations[0],
        second_s=durations[1],
        first_io_s=io_s[0],
        second_io_s=io_s[1],
        first_found_s=found_s[0],
        second_found_s=found_s[1],
        findings=_findings(findings[0], findings[1]),
        operations=_changes(operations[0], operations[1]),
        files=_files(first, second),
        differences=_differences(first, second),
        not_compared=missing,
    )


def headline(two: TwoRuns) -> str:
    """One sentence: how long both took, and what explains most of the difference."""
    if two.first_s is None or two.second_s is None:
        return "The duration of at least one of the runs is not known"
    more = two.second_s - two.first_s
    if abs(more) <= LIKE * max(two.first_s, two.second_s):
        return f"B took as long as A: {seconds_text(two.second_s)}"
    text = f"B took {seconds_text(two.second_s)} instead of {seconds_text(two.first_s)}"
    cause = max(two.findings, key=lambda change: change.seconds if more > 0 else -change.seconds, default=None)
    if cause is None or cause.seconds * more < EXPLAINS * more * more:
        return f"{text}; no finding explains it"
    way = "more" if more > 0 else "less"
    difference = f"the {seconds_text(abs(more))} {way}"
    if abs(cause.seconds) > abs(more):
        return f"{text}: '{cause.title}' costs {seconds_text(abs(cause.seconds))} {way}, which is more than {difference}"
    return f"{text}: {seconds_text(abs(cause.seconds))} of {difference} is explained by '{cause.title}'{_by_all(two, cause, more)}"


def _by_all(two: TwoRuns, cause: FindingChange, more: float) -> str:
    """How much all findings explain together. Empty if that is no more than the first, or more than the difference."""
    if two.first_found_s is None or two.second_found_s is None:
        return ""
    by_all = (two.second_found_s - two.first_found_s) * (1 if more > 0 else -1)
    explains_more = abs(cause.seconds) + EXPLAINS * abs(more) < by_all <= abs(more)
    return f", {seconds_text(by_all)} by all findings together" if explains_more else ""


def _duration(run: Run, verdict: Verdict | None) -> float | None:
    return run.facts.duration_s if run.facts.duration_s is not None else verdict.duration_s if verdict else None


def _findings(first: Sequence[Finding], second: Sequence[Finding]) -> list[FindingChange]:
    rules = [{finding.rule: finding for finding in findings} for findings in (first, second)]
    found = []
    for rule in {**rules[0], **rules[1]}:
        pair = [of_run.get(rule) for of_run in rules]
        seconds = [finding.seconds if finding else 0.0 for finding in pair]
        title = next(finding.title for finding in pair if finding)
        found.append(FindingChange(rule, title, seconds[0], seconds[1], _state(pair[0], pair[1])))
    return sorted(found, key=lambda change: -abs(change.seconds))


def _changes(first: Mapping[str, Sums], second: Mapping[str, Sums]) -> list[Change]:
    found = []
    for name in {**first, **second}:
        one, other = first.get(name), second.get(name)
        found.append(Change(name, _sums(one), _sums(other), _state(one, other)))
    return sorted(found, key=lambda change: -abs(change.seconds or 0.0))


def _state(first: object, second: object) -> str:
    return NEW if first is None else GONE if second is None else BOTH


def _sums(row: Sums | None) -> Sums:
    return NO_SUMS if row is None else {name: row[name] for name in SUMS}


def _files(first: Run, second: Run) -> list[Change]:
    """Compares groups of the user's files that have the same name in both runs. Other groups are matched by the last part of the
    name, if it is unique in each run, because two runs are often made in different folders."""
    rows = [{group.name: row for group, row in run.groups() if _is_data(group.files[0])} for run in (first, second)]
    alone = [_by_last_part(name for name in rows[at] if name not in rows[1 - at]) for at in (0, 1)]
    for last in alone[0].keys() & alone[1].keys():
        for at in (0, 1):
            rows[at][f".../{last}"] = rows[at].pop(alone[at][last])
    return _changes(rows[0], rows[1])


def _is_data(name: str) -> bool:
    return is_user_data(name) and not is_software(name)


def _by_last_part(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(os.path.basename(name), []).append(name)
    return {last: every[0] for last, every in found.items() if len(every) == 1}


def _differences(first: Run, second: Run) -> list[tuple[str, str, str]]:
    pairs: list[tuple[str, object, object]] = [
        ("command", first.facts.command, second.facts.command),
        ("ranks", len(first.ranks), len(second.ranks)),
        ("processes", len(first.processes), len(second.processes)),
        ("hosts", ", ".join(first.hosts), ", ".join(second.hosts)),
        ("status", first.facts.status, second.facts.status),
    ]
    machines = [run.facts.machine or {} for run in (first, second)]
    pairs += [(text, machines[0].get(key), machines[1].get(key)) for key, text in MACHINE.items()]
    return [(name, _known(one), _known(other)) for name, one, other in pairs if one != other]


def _known(value: object) -> str:
    return "not known" if value is None or value == "" else str(value)
