"""One run of a comparison: plain or placed, recorded or not."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.compare.contents import ContentReader
from tailrace.compare.copies import CompareError, Copies, sync
from tailrace.compare.outputs import Outputs, Reading, Stamps, outputs_of, stamps_of, with_bundled
from tailrace.findings.two_runs import verdict_or_none
from tailrace.place.files import folders_of, tree_files
from tailrace.place.mapping import MappingError
from tailrace.place.placing import PLACE_KEY, Placing
from tailrace.place.stage_rules import StageRules, read_stage
from tailrace.plain_text import quoted
from tailrace.process import run_program, tail
from tailrace.stage import bundles
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import ScratchFolder, chosen_scratch
from tailrace.stage.staging import Staging, without_record
from tailrace.toml_table import TomlError
from tailrace.trace import launch
from tailrace.trace.log import LogError
from tailrace.trace.log_folder import NotTraceable, make_log_folder
from tailrace.trace.model import Run
from tailrace.trace.program_file import launch_warning
from tailrace.trace.system_files import is_user_data

PLAIN, PLACED = "plain", "placed"
WAYS = (PLAIN, PLACED)
MOST_NAMED = 3
TIMEOUT_S = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    config: Path  # relative to the working folder
    budget_bytes: int
    follow: bool


@dataclass(frozen=True)
class Turn:
    """The times and the outputs of one run."""

    program_s: float
    durable_s: float  # seconds until its files are at their target, and on the device
    calls_s: float | None  # seconds of the wall clock in calls on files; None: not recorded
    claimed_s: Mapping[str, float]  # rule -> seconds that the finding of its log claims to save
    outputs: Outputs
    outside: tuple[str, ...]  # files that were written outside of the copy; empty if the run was not recorded
    notes: tuple[str, ...]


def command_of(words: Sequence[str], config: Path, budget_bytes: int, *, follow: bool) -> Command:
    """Raises CompareError where the rules cannot be used for a comparison."""
    here = Path.cwd()
    real = Path(os.path.abspath(config))
    if not real.is_relative_to(here):
        raise CompareError(
            f"{config} is not in the working folder {here}, of which each run gets a copy: change to {real.parent}, and name the "
            "program from there"
        )
    return Command(tuple(words), real.relative_to(here), budget_bytes, follow)


def check_program(words: Sequence[str]) -> None:
    """Raises CompareError if the program cannot be traced or its files cannot be placed."""
    try:
        launch.traced_command(words)
    except NotTraceable as error:
        raise CompareError(str(error)) from None
    if why := launch_warning(words[0]):
        raise CompareError(f"the files of {words[0]} cannot be placed: {why}")


def make_turn(
    command: Command, copies: Copies, way: str, reader: ContentReader, against: Outputs | None, *, recorded: bool
) -> Turn:
    """Runs the command in a fresh copy of the working folder. `against`: the outputs of the first plain run; NetCDF and HDF5 files
    with other bytes are read. Raises CompareError if the run fails."""
    reading = Reading(reader, against)
    with copies.fresh() as copy:
        placing = _placing(command, copy, way)
        before = stamps_of(copy)
        log = log_folder(copies, way) if recorded else None
        staging = _staging(command, placing, log, copy) if way == PLACED else None
        try:
            words, environment = _start_of(command, placing, staging, way, copies, log)
            if staging is not None:
                staging.begin()
            program_s = run_in(copy, copies, way, words, environment)
            ended = time.perf_counter()
            said = staging.said_after(placing.nodes_without_scratch()) if staging is not None else []
            _to_target(staging)
            sync(copy)
            durable_s = program_s + time.perf_counter() - ended
        finally:
            if staging is not None:
                staging.abandon()
        if way == PLACED:
            said += [*placing.said_before(), *placing.said_after()]
        notes = [text.replace(f"{os.path.realpath(copy)}/", "").replace(f"{copy}/", "") for text in said]
        made = _bundles(staging.rules, before) if staging is not None else []
        outputs = outputs_of(copy, before, placing.mapping, reading, made)
        if staging is not None and made:
            outputs = _with_bundled(outputs, made, copies, os.path.relpath(staging.rules.base, os.path.realpath(copy)), reading)
        if log is None:
            return Turn(program_s, durable_s, None, {}, outputs, (), tuple(notes))
        try:
            run = Run.read(log, with_calls=True)
        except (LogError, OSError) as error:
            raise CompareError(f"the log of the {way} run cannot be read: {error}; --no-trace compares without logs") from None
        calls_s, claimed_s = _of_calls(run, notes)
        return Turn(program_s, durable_s, calls_s, claimed_s, outputs, _written_outside(run, copies), tuple(notes))


def check_stage(command: Command, source: Path, *, recorded: bool) -> None:
    """Raises CompareError where [stage] cannot be used, before anything has run. `source`: the working folder."""
    try:
        stage = read_stage(source / command.config)
        if stage is None:
            return
        if not recorded:
            raise CompareError(without_record(command.config))
        if not Path(stage.target).is_relative_to(os.path.realpath(source)):
            raise CompareError(
                f"{command.config}: bundles of [stage] go to {stage.target}, outside of the working folder, which all runs "
                "would share: name a folder below that of the file"
            )
        ScratchFolder(chosen_scratch(stage.scratch), stage.base).remove()
    except (TomlError, StageError) as error:
        raise CompareError(_named(error, command, source)) from None


def _named(error: Exception, command: Command, folder: Path) -> str:
    return str(error).replace(f"{folder / command.config}", f"{command.config}")


def _staging(command: Command, placing: Placing, log: Path | None, copy: Path) -> Staging | None:
    if placing.stage is None:
        return None
    try:
        return Staging(placing.stage, command.config, log, command.words, lambda _: None, str(copy))
    except StageError as error:
        raise CompareError(str(error)) from None


def _to_target(staging: Staging | None) -> None:
    if staging is not None and (problems := staging.deliver(lambda _: None)):
        raise CompareError(
            f"the {PLACED} run is not compared, because its files are not all at their target: {'; '.join(problems)}"
        )


def _bundles(stage: StageRules, before: Stamps) -> list[str]:
    """Paths of the bundles that the drain has made."""
    if stage.sink != "bundle" or not os.path.isdir(stage.bundles):
        return []
    paths = [os.path.join(stage.bundles, name) for name in os.listdir(stage.bundles) if bundles.BUNDLE_NAME.fullmatch(name)]
    return sorted(path for path in paths if path not in before and bundles.is_bundle(Path(path)))


def _with_bundled(outputs: Outputs, made: Sequence[str], copies: Copies, below: str, reading: Reading) -> Outputs:
    """The outputs and the files in the bundles of a run. Moves the bundles first, because their folder may also have bundles of
    earlier runs."""
    alone = copies.bundled / "bundles"
    alone.mkdir(parents=True)
    for path in made:
        shutil.move(path, alone)
    try:
        return with_bundled(outputs, alone, below, copies.bundled / "extracted", reading)
    except StageError as error:
        raise CompareError(f"the bundles of the {PLACED} run cannot be read: {error}") from None


def _placing(command: Command, copy: Path, way: str) -> Placing:
    config = copy / command.config
    try:
        placing = Placing(config)
    except (TomlError, MappingError) as error:
        raise CompareError(_named(error, command, copy)) from None
    for rule in placing.rules:
        if not Path(rule.folder).is_relative_to(os.path.realpath(copy)):
            raise CompareError(
                f"{command.config}: {rule.title} is for a folder outside of the working folder, which all runs would share: "
                "compare in a folder that has it"
            )
    if way == PLAIN:
        for folder in folders_of(placing.rules, placing.mapping):
            if any(logical is not None for _, logical in tree_files(placing.mapping, folder)):
                where = os.path.relpath(folder, copy)
                raise CompareError(
                    f"{where}: the tree of the rules already has files, which a plain run does not find: "
                    f"`tailrace tree undo --config {quoted(command.config)}` moves them back"
                )
    return placing


def log_folder(copies: Copies, way: str) -> Path:
    """A new, empty log folder. Removes the log of the run before of the same way: only the last log of each way stays."""
    log = copies.folder / way
    if log.exists():
        shutil.rmtree(log)
    try:
        return make_log_folder(log)
    except NotTraceable as error:
        raise CompareError(str(error)) from None


def _start_of(
    command: Command, placing: Placing, staging: Staging | None, way: str, copies: Copies, log: Path | None
) -> tuple[list[str], dict[str, str]]:
    environment = launch.own_environment()
    follow = command.follow
    if way == PLAIN:
        if log is None:
            return list(command.words), environment
        return recorded_start(command.words, log, command.budget_bytes, follow=follow)
    more = (PLACE_KEY,)
    record = staging.record if staging is not None else None
    variables = placing.begin(copies.folder if log is None else log, record)
    words = launch.traced_command(command.words, follow=follow, trace=log is not None, more=more)
    if log is None:
        return words, launch.placed_environment(variables, environment, follow=follow)
    return words, {**launch.traced_environment(log, command.budget_bytes, environment, follow=follow), **variables}


def recorded_start(words: Sequence[str], log: Path, budget_bytes: int, *, follow: bool) -> tuple[list[str], dict[str, str]]:
    """The words and the environment of a plain run that is recorded."""
    environment = launch.traced_environment(log, budget_bytes, launch.own_environment(), follow=follow)
    return launch.traced_command(words, follow=follow), environment


def run_in(copy: Path, copies: Copies, way: str, words: Sequence[str], environment: Mapping[str, str]) -> float:
    """Runs the command in `copy`, and returns its duration in seconds. Raises CompareError if the command fails."""
    stdout, stderr = copies.folder / f"{way}.stdout", copies.folder / f"{way}.stderr"
    finished = run_program(words, environment, copy, stdout, stderr, TIMEOUT_S)
    if finished.exit_code != 0:
        raise CompareError(_failed(way, finished.exit_code, stderr))
    return finished.wall_s


def _failed(way: str, status: int, stderr: Path) -> str:
    ended = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
    remedy = "compare a command that ends with 0" if way == PLAIN else "placing changes what it does, or it fails now and then"
    last = tail(stderr).splitlines()[-1:]
    said = f"; it said last: {last[0]}" if last else ""
    return f"the {way} run of the command {ended}: {remedy}{said} ({stderr} has all)"


def _of_calls(run: Run, notes: list[str]) -> tuple[float | None, dict[str, float]]:
    """The seconds in calls (None: not known), and for each rule the seconds that its finding claims to save."""
    verdict = verdict_or_none(run)
    if verdict is None:
        return None, {}
    if verdict.counted_calls > 0:
        notes.append(f"{verdict.counted_calls:,} calls are only counted, so the time in calls is not known: name a larger --budget")
        return None, {}
    return verdict.io_s, {finding.rule: finding.seconds for finding in verdict.findings}


def _written_outside(run: Run, copies: Copies) -> tuple[str, ...]:
    activity = run.activity
    if activity is None:
        return ()
    written = activity.file[activity.in_group("write", "stdio_write", merged=True) & (activity.file >= 0)]
    names = {activity.files[number] for number in set(written.tolist())}
    inside = f"{os.path.realpath(copies.folder)}/"
    found = tuple(sorted(name for name in names if is_user_data(name) and not name.startswith(inside)))
    own = f"{os.path.realpath(copies.source)}/"
    if mine := [name for name in found if name.startswith(own)]:
        named = ", ".join(mine[:MOST_NAMED]) + (" and others" if len(mine) > MOST_NAMED else "")
        raise CompareError(
            f"the command has written to {named}, not to its copy of the working folder: name its files by relative paths"
        )
    return found
