"""The folder of a study: its journal of results, and the locks on the folder and on the output directories."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tailrace
from tailrace.machine.facts import describe_machine
from tailrace.results.runs import Case, RunResult
from tailrace.results.study import StudyResults, StudySettings
from tailrace.study.plan import cases_left, plan_cases, settings_of, stopped_layouts
from tailrace.study.spec import fingerprint
from tailrace.study.values import StudyError, StudySpec

RESULTS = "results.jsonl"
OWNER = "study-folder.txt"  # beside the outputs: names the folder of the study that made them
FIRST_BYTES = b'{"kind":"study"'  # a study's journal begins with these bytes
FORMAT = 1  # format of the journal; a first line without `format` has 1. Unknown keys and kinds of lines are ignored


class ForeignFileError(StudyError):
    """Raised if continuing would remove files of another program or of another study."""


class OtherVersionError(StudyError):
    """Raised if the folder has results of another version of the study, of another machine, or of other versions of programs."""


@dataclass
class Study:
    """A study in its folder `out`. `head` is the journal's first line; `results` are the runs so far, in order."""

    spec: StudySpec
    out: Path
    head: dict[str, Any] = field(default_factory=dict)
    results: list[RunResult] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.out / RESULTS

    @property
    def cases(self) -> list[Case]:
        return plan_cases(self.spec)

    @property
    def left(self) -> list[Case]:
        return cases_left(self.cases, {result.case.key for result in self.results}, self.stopped)

    @property
    def stopped(self) -> list[str]:
        """Layouts of which no more runs are made."""
        return stopped_layouts(self.cases, self.results)

    @property
    def measured(self) -> list[RunResult]:
        """The results that count, in the order of the study file: planned runs without warm-ups. A failed warm-up counts, because
        its layout cannot win."""
        planned = {case.key for case in self.cases}
        order = {setting.key: number for number, setting in enumerate(settings_of(self.spec))}
        counted = [result for result in self.results if result.case.key in planned and not (result.case.warm_up and result.ok)]
        return sorted(counted, key=lambda result: order[result.case.setting.key])

    def target(self, case: Case) -> Path:
        return Path(case.target) / f"tailrace-study-{self.spec.name}" if case.target else self.out / "runs"

    def for_report(self) -> StudyResults:
        spec, application = self.spec, self.spec.application
        return StudyResults(
            settings=StudySettings(
                name=spec.name,
                title=spec.title,
                application=application.name,
                application_title=application.title,
                compare=spec.compare,
                ranks=spec.matrix.ranks,
                steps=spec.steps,
                repetitions=spec.repetitions,
                warm_up=spec.warm_up,
                parameters=spec.matrix.parameters,
                keep=spec.keep,
                trace=spec.trace,
            ),
            machine=self.head.get("machine", {}),
            results=tuple(self.results),
            measured=tuple(self.measured),
            runs_planned=len(self.cases),
            runs_left=len(self.left),
            stopped=tuple(self.stopped),
        )


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Locks the folder. Two studies in it would remove each other's runs, and share the cores while runs are timed."""
    out.mkdir(parents=True, exist_ok=True)
    folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(f"{out}: a study is running in this folder: wait for it, or give another one with --out") from None
        yield
    finally:
        os.close(folder)


def open_study(spec: StudySpec, out: Path) -> Study:
    """Opens a study, with the results of an earlier, unfinished run of the same study if its folder has them."""
    study = Study(spec, out.resolve())
    if not study.journal.exists():
        return study
    if not study.journal.is_file():
        raise ForeignFileError(f"{study.journal} is not a regular file. Give another folder with --out")
    lines, _ = tailrace.journal_read(study.journal)
    if not _is_journal(study.journal, lines):
        raise ForeignFileError(f"{study.journal} is not the journal of a study and would be lost. Give another folder with --out")
    if not lines:
        return study
    try:
        _take(study, lines)
        if study.left:
            _refuse_newer_format(study)
            _refuse_other_machine(study)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, StudyError):
            raise
        raise ForeignFileError(
            f"{study.journal} has a record that no study writes ({error}). Give another folder with --out"
        ) from None
    return study


def _take(study: Study, lines: Sequence[Mapping[str, Any]]) -> None:
    """Fills the study with the records of its journal. Raises StudyError, and others for records that no study writes."""
    spec = study.spec
    study.head = dict(lines[0])
    if study.head["name"] != spec.name:
        raise ForeignFileError(
            f"{study.journal} holds results of the study {study.head['name']!r}, which would be lost. "
            "Give another folder with --out"
        )
    if study.head["fingerprint"] != fingerprint(spec):
        raise OtherVersionError(
            f"{study.journal} holds results of another version of this study: runs of both must not be mixed. "
            f"Give another folder with --out, or remove {study.out}"
        )
    study.results = [RunResult.from_json(line) for line in lines[1:] if line.get("kind") == "run"]


def _is_journal(path: Path, lines: Sequence[Mapping[str, Any]]) -> bool:
    """Also true of the beginning of a journal, which a killed study leaves."""
    with path.open("rb") as file:
        begins = file.read(len(FIRST_BYTES))
    return lines[0].get("kind") == "study" if lines else FIRST_BYTES.startswith(begins)


def _refuse_newer_format(study: Study) -> None:
    """What a newer version began, it continues: this one would leave out what it does not know."""
    found = study.head.get("format", 1)
    if found > FORMAT:
        raise OtherVersionError(
            f"{study.journal} is of format {found}, and this version writes format {FORMAT}: it can report the results, not add to "
            "them. Continue with a newer Tailrace, or give another folder with --out"
        )


def _refuse_other_machine(study: Study) -> None:
    """Times under other versions, or on another processor, are not comparable."""
    before, now = study.head["machine"], describe_machine([])
    pairs = {"processor": (before["processor"], now["processor"])}
    pairs |= {name: (before["versions"].get(name), version) for name, version in now["versions"].items()}
    changed = [f"{name}: {was}, now {is_now}" for name, (was, is_now) in pairs.items() if was != is_now]
    if changed:
        raise OtherVersionError(
            f"{study.journal} holds results of another machine or version ({'; '.join(changed)}): runs of both must not be mixed. "
            f"Give another folder with --out, or remove {study.out}"
        )


def begin_journal(study: Study) -> None:
    """Writes the journal's first line, once."""
    if study.head:
        return
    targets = sorted({study.target(case) for case in study.cases})
    study.head = {
        "kind": "study",
        "format": FORMAT,
        "name": study.spec.name,
        "fingerprint": fingerprint(study.spec),
        "machine": describe_machine(targets),
    }
    tailrace.journal_append(study.journal, study.head, sync=True)


def add_result(study: Study, result: RunResult) -> None:
    tailrace.journal_append(study.journal, result.to_json(), sync=True)
    study.results.append(result)


def claim_target(target: Path, out: Path) -> None:
    """Marks a directory for outputs as this study's. Two studies of one name would remove each other's outputs."""
    target.mkdir(parents=True, exist_ok=True)
    mark = target / OWNER
    try:
        with mark.open("x") as file:
            file.write(f"{out}\n")
    except FileExistsError:
        owner = mark.read_text(errors="replace").strip()
        if owner != str(out):
            raise ForeignFileError(
                f"{target} holds outputs of the study in {owner}: give this one another `name` or `targets`, or remove the folder"
            ) from None


def remove_empty_targets(study: Study) -> None:
    """Removes the directories for outputs in which no output was kept."""
    for folder in {study.target(case) for case in study.cases}:
        if folder.is_dir() and [path.name for path in folder.iterdir()] == [OWNER]:
            (folder / OWNER).unlink()
            folder.rmdir()
