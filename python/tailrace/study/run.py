"""One case from its start to its result: run, measure, verify, remove."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.study import command, measure
from tailrace.study.process import NOT_STARTED, Ended, run_program, tail
from tailrace.study.values import FAILED, OK, TIMED_OUT, UNVERIFIED, Case, LayoutChoice, Phase, RunResult, StudyError, StudySpec
from tailrace.trace import launch, log
from tailrace.trace import phases as trace_phases
from tailrace.trace.log import LogError

NEEDS_CONVERSION = "not readable by xarray without conversion"


def run_case(spec: StudySpec, case: Case, places: command.Places, reader: measure.Reader) -> RunResult:
    output = Path(places.output_directory)
    record = Path(places.run_record)
    _remove(output)
    record.unlink(missing_ok=True)
    _remove(Path(places.trace))
    output.mkdir(parents=True)
    record.parent.mkdir(parents=True, exist_ok=True)
    words = launch.pass_to_ranks(command.run_command(spec, case, places), [command.CONFIG_KEY])
    surroundings = command.environment(os.environ, places, as_root=os.geteuid() == 0)
    started_with = surroundings
    if spec.trace:
        words, started_with = recorded(words, surroundings, Path(places.trace))
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    stderr = record.with_suffix(".stderr")
    try:
        ended = run_program(words, started_with, record.parent, record.with_suffix(".stdout"), stderr, spec.timeout_s)
        result = RunResult(
            case=case,
            status=OK,
            started=started,
            wall_s=ended.wall_s,
            user_s=ended.user_s,
            system_s=ended.system_s,
            exit_code=ended.exit_code,
            command=shlex.join(words),
        )
        if ended.timed_out or ended.exit_code != 0:
            return _failed(result, ended, spec.timeout_s, tail(stderr))
        result = _measured(result, spec, places, reader)
        return _verified(result, spec, case, places, surroundings) if result.ok else result
    finally:
        if not spec.keep:
            _remove(output)


def recorded(words: Sequence[str], surroundings: Mapping[str, str], folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command and its environment, so that the run leaves its log in the folder."""
    try:
        made = launch.make_log_folder(folder)
        return launch.traced_command(words), launch.traced_environment(made, launch.DEFAULT_BUDGET_BYTES, surroundings)
    except launch.NotTraceable as error:
        raise StudyError(f"trace = true: {error}") from None


def _failed(result: RunResult, ended: Ended, timeout_s: float, stderr: str) -> RunResult:
    if ended.timed_out:
        return dataclasses.replace(result, status=TIMED_OUT, stderr_tail=stderr, note=f"not finished after {timeout_s:g} s")
    why = f"exit status {ended.exit_code}" if ended.exit_code >= 0 else f"ended by signal {-ended.exit_code}"
    return dataclasses.replace(result, status=FAILED, stderr_tail=stderr, note=why)


def _measured(result: RunResult, spec: StudySpec, places: command.Places, reader: measure.Reader) -> RunResult:
    """fsync comes first: the time to durable counts from the end of the run."""
    output, record, trace = Path(places.output_directory), Path(places.run_record), Path(places.trace)
    try:
        fsync_s = measure.make_durable(output)
        left = measure.on_storage(output)
        told = {} if spec.trace and not record.exists() else json.loads(record.read_text(), parse_constant=refuse_constant)
        phases = phases_of_trace(trace) if spec.trace else phases_of(told)
        return_s = time_to_return(phases, spec.application.output_phases)
        settings = told.get("streams", {})
        refuse_other_layout(result.case.layout, settings, places.config)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StudyError, LogError) as error:
        which = f"log in {trace}" if spec.trace else "record"
        return dataclasses.replace(result, status=FAILED, note=f"the run's {which}: {error}")
    open_s, note = _readable(result.case, spec, output, reader)
    return dataclasses.replace(
        result,
        phases=phases,
        return_s=return_s,
        fsync_s=fsync_s,
        open_s=open_s,
        note=note,
        bytes=left.bytes,
        files=left.files,
        directories=left.directories,
        trace=f"{trace.parent.name}/{trace.name}" if spec.trace else "",
        settings=settings,
    )


def phases_of(record: Mapping[str, Any]) -> tuple[Phase, ...]:
    """From {"name": {"exec_s", "sync_s", "slowest_s"}}; without barriers sync_s is null and the slowest rank has the whole."""
    made = []
    for name, seconds in record["phases"].items():
        exec_s, sync_s = float(seconds["exec_s"]), seconds["sync_s"]
        made.append(Phase(name, exec_s, float(sync_s)) if sync_s is not None else Phase(name, float(seconds["slowest_s"]), 0.0))
    return tuple(made)


def refuse_constant(name: str) -> float:
    """No JSON has it, nor can the journal keep it."""
    raise ValueError(f"{name} is no number of JSON")


def refuse_other_layout(layout: LayoutChoice, streams: Mapping[str, Any], config: str) -> None:
    """A run that has not seen its configuration, or was told otherwise by something stronger, is none of the layout."""
    for name, settings in streams.items():
        for key, _ in layout.keys:
            requested = settings["requested"].get(key)
            if requested is not None and str(requested["origin"]).startswith(config):
                continue
            why = (
                f"{command.CONFIG_KEY} has not reached the ranks; is its file visible where they run?"
                if requested is None
                else f"it was {requested['value']!r} by {requested['origin']}"
            )
            raise StudyError(f"stream {name} was opened without {key} of the layout {layout.name}: {why}")


def phases_of_trace(folder: Path) -> tuple[Phase, ...]:
    """From the log: sync time is what ranks wait for the last of them in all collectives of the phase, execution time the rest of
    the slowest rank's."""
    logs, damaged = log.read_run(folder)
    if damaged:
        raise StudyError("; ".join(damaged))
    found = trace_phases.phases_of(logs)
    if found.unmatched:
        raise StudyError("; ".join(found.unmatched))
    made = []
    for phase in found.phases:
        sync_s = min(phase.sync_s, phase.critical_s)
        made.append(Phase(phase.name, phase.critical_s - sync_s, sync_s))
    return tuple(made)


def time_to_return(phases: tuple[Phase, ...], output_phases: tuple[str, ...]) -> float:
    """How long the simulation waited for its output: execution and sync time of those output phases that ran."""
    if not any(phase.name in output_phases for phase in phases):
        names = ", ".join(phase.name for phase in phases) or "none"
        raise StudyError(f"no phase of {', '.join(output_phases)} in it, but {names}; check `output_phases` of the application")
    return sum(phase.exec_s + phase.sync_s for phase in phases if phase.name in output_phases)


def _readable(case: Case, spec: StudySpec, output: Path, reader: measure.Reader) -> tuple[float | None, str]:
    if case.layout.is_native:
        return None, NEEDS_CONVERSION
    paths = [output / f"{name}.nc" for name in spec.application.streams] or sorted(output.glob("*.nc"))
    if not paths:
        return None, "no .nc file in the output directory"
    return reader.time_to_read(paths, spec.timeout_s)


def _verified(result: RunResult, spec: StudySpec, case: Case, places: command.Places, surroundings: Mapping[str, str]) -> RunResult:
    """The application's verifier reads every byte back; without its word the run does not count."""
    words = command.verify_command(spec, case, places)
    stdout, stderr = (Path(places.run_record).with_suffix(f".verify-{name}") for name in ("stdout", "stderr"))
    try:
        ended = run_program(words, surroundings, Path.cwd(), stdout, stderr, spec.timeout_s)
        answered, complaint = stdout.read_text(errors="replace"), tail(stderr)
    finally:
        stdout.unlink(missing_ok=True)
        stderr.unlink(missing_ok=True)
    if ended.timed_out:
        return dataclasses.replace(result, status=UNVERIFIED, note=f"the verifier did not finish within {spec.timeout_s:g} s")
    if ended.exit_code == NOT_STARTED and not answered:
        return dataclasses.replace(result, status=UNVERIFIED, note=f"the verifier: {complaint}")
    said = answered.strip()[-2000:]
    try:
        answer = json.loads(answered)
        good = ended.exit_code == 0 and answer["ok"] is True and answer["bytes_checked"] > 0
    except (ValueError, KeyError, TypeError):
        good, said = False, f"the verifier must answer in JSON with `ok` and `bytes_checked`; it said: {said}"
    return result if good else dataclasses.replace(result, status=UNVERIFIED, note=said, stderr_tail=complaint)


def _remove(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)
