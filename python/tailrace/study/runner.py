"""Runs what is left of a study: checks, the preparation of the input, then case after case."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import tailrace
from tailrace.process import run_program, tail
from tailrace.results.runs import WARM_UP, Case, RunResult
from tailrace.study import command
from tailrace.study.folder import Study, add_result, begin_journal, claim_target, remove_empty_targets
from tailrace.study.measure import Reader
from tailrace.study.plan import settings_of
from tailrace.study.run import run_case
from tailrace.study.values import StudyError, StudySpec

PREPARE_TIMEOUT_S = 24 * 3600.0  # time limit of `prepare`, which may convert gigabytes of measured data


def run_study(study: Study, build: Path, on_start: Callable[[Case], None], on_result: Callable[[RunResult], None]) -> None:
    """Makes every run that is left. Each is in the journal before the next one starts."""
    left = study.left
    if not left:
        return
    check_layouts(study.spec)
    for case in {case.target: case for case in left}.values():
        claim_target(study.target(case), study.out)
        check_space(study, case)
    study.out.mkdir(parents=True, exist_ok=True)
    input_path = prepare(study, build)
    begin_journal(study)
    with Reader() as reader:
        if not left[0].warm_up and study.spec.warm_up:
            # A continued study finds cold caches again, so it makes one more warm-up run. Only a failed one is recorded.
            again = dataclasses.replace(left[0], repetition=WARM_UP - 1)
            on_start(again)
            result = _run(study, again, build, input_path, reader)
            if not result.ok:
                add_result(study, result)
        for case in left:
            if case.layout.name in study.stopped:
                continue
            check_space(study, case)
            on_start(case)
            result = _run(study, case, build, input_path, reader)
            add_result(study, result)
            on_result(result)
    remove_empty_targets(study)


def check_layouts(spec: StudySpec) -> None:
    """Raises StudyError before the first run for a layout that the library refuses."""
    for layout in spec.matrix.layouts:
        if layout.keys:
            try:
                tailrace.describe_layout(tomllib.loads(layout.toml))
            except (tailrace.Error, tomllib.TOMLDecodeError) as error:
                raise StudyError(f"layout {layout.name}: {error}") from error


def check_space(study: Study, case: Case) -> None:
    """Raises StudyError if the target has less free space than min_free_bytes, or than twice the largest output so far. If outputs
    are kept: than the outputs of all runs that are left."""
    largest_bytes = max((result.stored.bytes for result in study.results), default=0)
    needed_bytes = max(study.spec.min_free_bytes, largest_bytes * (len(study.left) + 1 if study.spec.keep else 2))
    target = study.target(case)
    target.mkdir(parents=True, exist_ok=True)
    free_bytes = shutil.disk_usage(target).free
    if free_bytes < needed_bytes:
        raise StudyError(
            f"{target} has {free_bytes / 1e9:.2f} GB free and the study needs {needed_bytes / 1e9:.2f} GB: make room, "
            "or change `targets`, `keep` or `min_free_bytes` in the study file"
        )


def prepare(study: Study, build: Path) -> str:
    """Runs the application's own preparation; returns the path that it prints, which becomes {input}."""
    if not command.uses_input(study.spec):
        return ""
    first = study.cases[0]
    template, where = study.spec.application.prepare, f"{study.spec.application.name}: prepare"
    places = places_of(study, first, build, "")
    names = command.names_of(study.spec, first, places)
    _refuse_varied_names(study, template, where, places)
    words = command.fill(template, names, where)
    Path(places.cache).mkdir(parents=True, exist_ok=True)
    stdout, stderr = study.out / "prepare.stdout", study.out / "prepare.stderr"
    finished = run_program(words, os.environ, Path.cwd(), stdout, stderr, PREPARE_TIMEOUT_S)
    path = stdout.read_text(errors="replace").strip()
    if finished.timed_out or finished.exit_code != 0 or not path:
        why = f"not finished after {PREPARE_TIMEOUT_S / 3600:g} hours" if finished.timed_out else tail(stderr)
        raise StudyError(f"preparing the input failed: {' '.join(words)}\n{why}")
    stdout.unlink()
    stderr.unlink()
    return path


def _refuse_varied_names(study: Study, template: tuple[str, ...], where: str, places: command.RunPaths) -> None:
    names = command.names_of(study.spec, study.cases[0], places)
    fields = command.fields_of(template)
    varied = fields & set(command.NAMES_OF_ONE_RUN) if len(study.cases) > 1 else set()
    for setting in settings_of(study.spec):
        others = command.names_of(study.spec, setting, places)
        varied |= {name for name in fields if names.get(name) != others.get(name)}
    if varied:
        raise StudyError(
            f"{where}: the input is prepared once, but {', '.join(sorted(varied))} is not the same in all runs; "
            "give it under [parameters]"
        )


def places_of(study: Study, case: Case, build: Path, input_path: str) -> command.RunPaths:
    number = next((position for position, planned in enumerate(study.cases, 1) if planned.key == case.key), 0)
    config = study.out / "layouts" / command.config_name(case.layout)
    return command.RunPaths(
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
    config.write_text(case.layout.configuration)
    return run_case(study.spec, case, places, reader)
