"""One case from its start to its result: run, measure, verify, remove."""

from __future__ import annotations

import dataclasses
import datetime
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.json_text import parse_json
from tailrace.launch.mpi import pass_to_ranks
from tailrace.process import NOT_STARTED, Finished, run_program, tail
from tailrace.results.runs import FAILED, OK, TIMED_OUT, UNVERIFIED, Case, LayoutChoice, Phase, RunResult, Times
from tailrace.study import command, measure
from tailrace.study.values import StudyError, StudySpec
from tailrace.trace import launch, log
from tailrace.trace import phases as trace_phases
from tailrace.trace.log import LogError
from tailrace.trace.log_folder import NotTraceable, make_log_folder

NOT_CHECKED = "whether xarray can read native output was not checked"
SHOWN_CHARACTERS = 2000  # of what a verifier printed


def run_case(spec: StudySpec, case: Case, places: command.RunPaths, reader: measure.Reader) -> RunResult:
    output = Path(places.output_directory)
    record = Path(places.run_record)
    _remove(output)
    record.unlink(missing_ok=True)
    _remove(Path(places.trace))
    output.mkdir(parents=True)
    record.parent.mkdir(parents=True, exist_ok=True)
    words = pass_to_ranks(command.run_command(spec, case, places), [command.CONFIG_KEY])
    environment = command.environment(os.environ, places, as_root=os.geteuid() == 0)
    run_environment = environment
    if spec.trace:
        words, run_environment = recorded(words, environment, Path(places.trace))
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    stderr = record.with_suffix(".stderr")
    try:
        finished = run_program(words, run_environment, record.parent, record.with_suffix(".stdout"), stderr, spec.timeout_s)
        result = RunResult(
            case=case,
            status=OK,
            started=started,
            times=Times(wall_s=finished.wall_s, user_s=finished.user_s, system_s=finished.system_s),
            exit_code=finished.exit_code,
            command=shlex.join(words),
        )
        if finished.timed_out or finished.exit_code != 0:
            return _failed(result, finished, spec.timeout_s, tail(stderr))
        result = _measured(result, spec, places, reader)
        return _verified(result, spec, case, places, environment) if result.ok else result
    finally:
        if not spec.keep:
            _remove(output)


def recorded(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command and its environment, so that the run writes its log into the folder."""
    try:
        log_folder = make_log_folder(folder)
        return launch.traced_command(words), launch.traced_environment(log_folder, launch.DEFAULT_BUDGET_BYTES, environment)
    except NotTraceable as error:
        raise StudyError(f"trace = true: {error}") from None


def _failed(result: RunResult, finished: Finished, timeout_s: float, stderr: str) -> RunResult:
    if finished.timed_out:
        return dataclasses.replace(result, status=TIMED_OUT, stderr_tail=stderr, note=f"not finished after {timeout_s:g} s")
    code = finished.exit_code
    why = f"exit status {code}" if code >= 0 else f"ended by signal {-code}"
    return dataclasses.replace(result, status=FAILED, stderr_tail=stderr, note=why)


def _measured(result: RunResult, spec: StudySpec, places: command.RunPaths, reader: measure.Reader) -> RunResult:
    """Measures a run that ended with 0. Calls fsync first, because the time to durable counts from the end of the run."""
    output, record_file, trace = Path(places.output_directory), Path(places.run_record), Path(places.trace)
    try:
        fsync_s = measure.make_durable(output)
        stored = measure.stored_in(output)
        needs_record = not spec.trace or record_file.exists()
        record = parse_json(record_file.read_text(), parse_constant=refuse_constant) if needs_record else {}
        phases = phases_of_trace(trace) if spec.trace else phases_of(record)
        names = spec.application.output_phases
        return_s = time_to_return(phases, names) if names else time_in_calls(trace)
        settings = record.get("streams", {})
        refuse_other_layout(result.case.layout, settings, places.config)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StudyError, LogError) as error:
        which = f"log in {trace}" if spec.trace else "record"
        return dataclasses.replace(result, status=FAILED, note=f"the run's {which}: {error}")
    open_s, note = _time_to_read(result.case, spec, output, reader)
    return dataclasses.replace(
        result,
        times=dataclasses.replace(result.times, return_s=return_s, fsync_s=fsync_s, open_s=open_s),
        phases=phases,
        stored=stored,
        note=note,
        trace=f"{trace.parent.name}/{trace.name}" if spec.trace else "",
        settings=settings,
    )


def phases_of(record: Mapping[str, Any]) -> tuple[Phase, ...]:
    """Phases from the run's record, {"name": {"exec_s", "sync_s", "slowest_s"}}. Without barriers, sync_s is null: then exec_s of
    the phase becomes slowest_s, the time of the slowest rank."""
    found = []
    for name, seconds in record["phases"].items():
        exec_s, sync_s = float(seconds["exec_s"]), seconds["sync_s"]
        found.append(Phase(name, exec_s, float(sync_s)) if sync_s is not None else Phase(name, float(seconds["slowest_s"]), 0.0))
    return tuple(found)


def refuse_constant(name: str) -> float:
    """JSON has no NaN and no infinity, and the journal cannot keep them."""
    raise ValueError(f"{name} is not a number in JSON; write a finite number, or null")


def refuse_other_layout(layout: LayoutChoice, streams: Mapping[str, Any], config: str) -> None:
    """Raises StudyError if the run did not use the keys of its layout: its configuration file was not read, or was overridden."""
    for name, settings in streams.items():
        for key, _ in layout.keys:
            requested = settings["requested"].get(key)
            if requested is not None and str(requested["origin"]).startswith(config):
                continue
            why = (
                f"{command.CONFIG_KEY} has not reached the ranks; is its file {config} visible where they run?"
                if requested is None
                else f"it was {requested['value']!r} by {requested['origin']}; remove that setting"
            )
            raise StudyError(f"stream {name} was opened without {key} of the layout {layout.name}: {why}")


def phases_of_trace(folder: Path) -> tuple[Phase, ...]:
    """Phases from the run's log. Sync time: how long ranks wait for the last one in all collectives of the phase. Execution time:
    the rest of the slowest rank's time."""
    logs, damaged = log.read_run(folder)
    if damaged:
        raise StudyError("; ".join(damaged))
    found = trace_phases.phases_of(logs)
    if found.unmatched:
        raise StudyError("; ".join(found.unmatched))
    phases = []
    for phase in found.phases:
        sync_s = min(phase.sync_s, phase.critical_s)
        phases.append(Phase(phase.name, phase.critical_s - sync_s, sync_s))
    return tuple(phases)


def time_to_return(phases: tuple[Phase, ...], output_phases: tuple[str, ...]) -> float:
    """How long the simulation waited for its output: execution and sync time of those output phases that ran."""
    if not any(phase.name in output_phases for phase in phases):
        wanted = " or ".join(f"'{name}'" for name in output_phases)
        names = ", ".join(f"'{phase.name}'" for phase in phases)
        has = f"its phases are {names}" if names else "it has no phases"
        raise StudyError(f"no phase {wanted}; {has}; set `output_phases` of the application to existing phases")
    return sum(phase.exec_s + phase.sync_s for phase in phases if phase.name in output_phases)


def time_in_calls(folder: Path) -> float:
    """How long the program was in I/O calls on the user's files: of its process with most of that time."""
    from tailrace.trace.model import calls_of  # here, because the base install has no pyarrow

    activity = calls_of(folder)
    chosen = activity.is_own & activity.of_user_data
    if not chosen.any():
        raise StudyError("it has no I/O call on a user's file, so the time in I/O calls is not known")
    return float(np.bincount(activity.process[chosen], activity.seconds[chosen]).max())


def _time_to_read(case: Case, spec: StudySpec, output: Path, reader: measure.Reader) -> tuple[float | None, str]:
    if case.layout.is_native:
        return None, NOT_CHECKED
    paths = [output / f"{name}.nc" for name in spec.application.streams] or sorted(output.glob("*.nc"))
    if not paths:
        return None, "no .nc file in the output directory"
    return reader.time_to_read(paths, spec.timeout_s)


def _verified(
    result: RunResult, spec: StudySpec, case: Case, places: command.RunPaths, environment: Mapping[str, str]
) -> RunResult:
    """The application's verifier reads every byte back. A run counts only if the verifier confirms it."""
    words = command.verify_command(spec, case, places)
    stdout, stderr = (Path(places.run_record).with_suffix(f".verify-{name}") for name in ("stdout", "stderr"))
    try:
        finished = run_program(words, environment, Path.cwd(), stdout, stderr, spec.timeout_s)
        printed, messages = stdout.read_text(errors="replace"), tail(stderr)
    finally:
        stdout.unlink(missing_ok=True)
        stderr.unlink(missing_ok=True)
    if finished.timed_out:
        return dataclasses.replace(result, status=UNVERIFIED, note=f"the verifier did not finish within {spec.timeout_s:g} s")
    if finished.exit_code == NOT_STARTED and not printed:
        return dataclasses.replace(result, status=UNVERIFIED, note=f"the verifier: {messages}")
    note = printed.strip()[-SHOWN_CHARACTERS:]
    try:
        report = parse_json(printed)
        is_good = finished.exit_code == 0 and report["ok"] is True and report["bytes_checked"] > 0
    except (ValueError, KeyError, TypeError):
        is_good, note = False, f"the verifier must print JSON with `ok` and `bytes_checked`; it printed: {note}"
    return result if is_good else dataclasses.replace(result, status=UNVERIFIED, note=note, stderr_tail=messages)


def _remove(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)
