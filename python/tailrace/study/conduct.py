"""A whole study: its folder, its journal, what is left to do, the preparation, the runs."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tailrace
from tailrace.study import command
from tailrace.study.machine import describe_machine
from tailrace.study.measure import Reader
from tailrace.study.plan import cases_left, plan_cases, settings_of
from tailrace.study.process import run_program, tail
from tailrace.study.run import run_case
from tailrace.study.spec import fingerprint
from tailrace.study.values import WARM_UP, Case, RunResult, StudyError, StudySpec

RESULTS = "results.jsonl"
OWNER = "study-folder.txt"  # beside the outputs: which study made them
PREPARE_TIMEOUT_S = 24 * 3600.0  # of gigabytes made from measured data
BEGINNING = b'{"kind":"study"'  # of its first line


class ForeignFileError(StudyError):
    """A file of another program, or another study's journal, in the place of the journal; or outputs of another study."""


@dataclass
class Study:
    """A study in its folder `out`. `head` is the journal's first line; `results` what has been measured, in order."""

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
        return cases_left(self.cases, {result.case.key for result in self.results})

    @property
    def measured(self) -> list[RunResult]:
        """The results that count: those of this plan that are no warm-ups, and failed warm-ups, whose layout cannot win; in the
        order of the study file."""
        planned = {case.key for case in self.cases}
        order = {setting.key: number for number, setting in enumerate(settings_of(self.spec))}
        counted = [result for result in self.results if result.case.key in planned and not (result.case.warm_up and result.ok)]
        return sorted(counted, key=lambda result: order[result.case.setting.key])

    def target(self, case: Case) -> Path:
        return Path(case.target) / f"tailrace-study-{self.spec.name}" if case.target else self.out / "runs"


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Two at once would remove each other's runs, and share the cores while they are timed."""
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
    """With the results of an earlier, unfinished run of the same study."""
    study = Study(spec, out.resolve())
    if not study.journal.exists():
        return study
    lines, _ = tailrace.journal_read(study.journal)
    if not _is_journal(study.journal, lines):
        raise ForeignFileError(f"{study.journal} is no journal of a study: it would be lost. Give another folder with --out")
    if not lines:
        return study
    study.head = lines[0]
    if study.head["name"] != spec.name:
        raise ForeignFileError(
            f"{study.journal} holds results of the study {study.head['name']!r}, which would be lost. "
            "Give another folder with --out"
        )
    if study.head["fingerprint"] != fingerprint(spec):
        raise StudyError(
            f"{study.journal} holds results of another version of this study: runs of both must not be mixed. "
            f"Give another folder with --out, or remove {study.out}"
        )
    study.results = [RunResult.from_json(line) for line in lines[1:] if line["kind"] == "run"]
    if study.left:
        _refuse_other_machine(study)
    return study


def _is_journal(path: Path, lines: Sequence[Mapping[str, Any]]) -> bool:
    """Or the beginning of one, which a kill has left."""
    with path.open("rb") as file:
        begins = file.read(len(BEGINNING))
    return lines[0].get("kind") == "study" if lines else BEGINNING.startswith(begins)


def _refuse_other_machine(study: Study) -> None:
    """Times of other versions, or of another processor, are not comparable."""
    before, now = study.head["machine"], describe_machine([])
    pairs = {"processor": (before["processor"], now["processor"])}
    pairs |= {name: (before["versions"].get(name), version) for name, version in now["versions"].items()}
    changed = [f"{name}: {was}, now {is_now}" for name, (was, is_now) in pairs.items() if was != is_now]
    if changed:
        raise StudyError(
            f"{study.journal} holds results of another machine or version ({'; '.join(changed)}): runs of both must not be mixed. "
            f"Give another folder with --out, or remove {study.out}"
        )


def check_layouts(spec: StudySpec) -> None:
    """A layout that the library refuses is found before the first run."""
    for layout in spec.layouts:
        if layout.keys:
            try:
                tailrace.resolve(tomllib.loads(layout.toml))
            except (tailrace.Error, tomllib.TOMLDecodeError) as error:
                raise StudyError(f"layout {layout.name}: {error}") from error


def check_space(study: Study, case: Case) -> None:
    """Room for the largest output so far, twice, and never less than min_free_bytes; kept outputs are counted to the end."""
    largest = max((result.bytes for result in study.results), default=0)
    needed = max(study.spec.min_free_bytes, largest * (len(study.left) + 1 if study.spec.keep else 2))
    target = study.target(case)
    target.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(target).free
    if free < needed:
        raise StudyError(
            f"{target} has {free / 1e9:.2f} GB free and the study wants {needed / 1e9:.2f} GB: make room, "
            "or change `targets`, `keep` or `min_free_bytes` in the study file"
        )


def conduct(study: Study, build: Path, on_start: Callable[[Case], None], on_result: Callable[[RunResult], None]) -> None:
    """Makes every run that is left. Each is in the journal before the next starts."""
    left = study.left
    if not left:
        return
    check_layouts(study.spec)
    for case in {case.target: case for case in left}.values():
        _own(study.target(case), study.out)
        check_space(study, case)
    study.out.mkdir(parents=True, exist_ok=True)
    input_path = prepare(study, build)
    _begin(study)
    with Reader() as reader:
        if not left[0].warm_up and study.spec.warm_up:
            # A continued study finds cold caches again.
            again = dataclasses.replace(left[0], repetition=WARM_UP - 1)
            on_start(again)
            result = _run(study, again, build, input_path, reader)
            if not result.ok:
                _keep(study, result)
        for case in left:
            check_space(study, case)
            on_start(case)
            result = _run(study, case, build, input_path, reader)
            _keep(study, result)
            on_result(result)
    _remove_empty(study)


def prepare(study: Study, build: Path) -> str:
    """Runs the application's own preparation; the path that it prints is {input}."""
    if not command.uses_input(study.spec):
        return ""
    first = study.cases[0]
    template, where = study.spec.application.prepare, f"{study.spec.application.name}: prepare"
    places = places_of(study, first, build, "")
    names = command.names_of(study.spec, first, places)
    fields = command.fields_of(template)
    varied = fields & set(command.OF_ONE_RUN) if len(study.cases) > 1 else set()
    for setting in settings_of(study.spec):
        others = command.names_of(study.spec, setting, places)
        varied |= {name for name in fields if names.get(name) != others.get(name)}
    if varied:
        raise StudyError(
            f"{where}: the input is prepared once, but {', '.join(sorted(varied))} is not the same in all runs; "
            "give it under [parameters]"
        )
    words = command.fill(template, names, where)
    Path(places.cache).mkdir(parents=True, exist_ok=True)
    stdout, stderr = study.out / "prepare.stdout", study.out / "prepare.stderr"
    ended = run_program(words, os.environ, Path.cwd(), stdout, stderr, PREPARE_TIMEOUT_S)
    path = stdout.read_text(errors="replace").strip()
    if ended.timed_out or ended.exit_code != 0 or not path:
        why = f"not finished after {PREPARE_TIMEOUT_S / 3600:g} hours" if ended.timed_out else tail(stderr)
        raise StudyError(f"preparing the input failed: {' '.join(words)}\n{why}")
    stdout.unlink()
    stderr.unlink()
    return path


def places_of(study: Study, case: Case, build: Path, input_path: str) -> command.Places:
    number = next((position for position, planned in enumerate(study.cases, 1) if planned.key == case.key), 0)
    config = study.out / "layouts" / command.config_name(case.layout)
    return command.Places(
        build=str(build),
        python=sys.executable,
        cache=os.environ.get("TAILRACE_CACHE", str(build / "cache")),
        input=input_path,
        output_directory=str(study.target(case) / f"{number:06d}"),
        run_record=str(study.out / "records" / f"{number:06d}.json"),
        config=str(config),
        trace=str(study.out / "traces" / f"{number:06d}"),
    )


def _run(study: Study, case: Case, build: Path, input_path: str, reader: Reader) -> RunResult:
    places = places_of(study, case, build, input_path)
    config = Path(places.config)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(command.configuration(case.layout))
    return run_case(study.spec, case, places, reader)


def _keep(study: Study, result: RunResult) -> None:
    tailrace.journal_append(study.journal, result.to_json(), sync=True)
    study.results.append(result)


def _begin(study: Study) -> None:
    if study.head:
        return
    targets = sorted({study.target(case) for case in study.cases})
    study.head = {
        "kind": "study",
        "name": study.spec.name,
        "fingerprint": fingerprint(study.spec),
        "machine": describe_machine(targets),
    }
    tailrace.journal_append(study.journal, study.head, sync=True)


def _own(target: Path, out: Path) -> None:
    """Marks a folder for outputs as this study's: two studies of one name would remove each other's."""
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


def _remove_empty(study: Study) -> None:
    """The folders for outputs, when nothing was kept in them."""
    for folder in {study.target(case) for case in study.cases}:
        if folder.is_dir() and [path.name for path in folder.iterdir()] == [OWNER]:
            (folder / OWNER).unlink()
            folder.rmdir()
