"""A run with the tracer: its log folder, its program, and the messages after it. Imports little, because these imports delay the
start of each program."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from tailrace.cli.run_options import RunOptions
from tailrace.cli.run_signals import RunSignals
from tailrace.plain_text import quoted, say
from tailrace.trace import launch
from tailrace.trace.log_folder import NotTraceable, make_log_folder, write_new
from tailrace.trace.program_file import launch_warning

MOST_READ_BYTES, MOST_NAMED = 256 << 20, 5


class NotRun(RuntimeError):
    """Raised if the command was not started; its text says why."""


class Recording:
    """Prepares the environment of a recorded run, and prints messages after it."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.folder: Path | None = None
        self.info: dict[str, object] = {}

    def prepare(self) -> tuple[list[str], dict[str, str]]:
        """Makes the log folder. Returns the command to start and its environment. Raises NotTraceable."""
        options = self.options
        follow, share = options.follow, options.share
        traced = launch.traced_command(options.command, follow=follow, share=share)
        self.folder = make_log_folder(Path(options.log) if options.log is not None else None, options.share)
        budget = options.budget_mib << 20
        environment = launch.traced_environment(self.folder, budget, launch.own_environment(), follow=follow, share=share)
        if why := launch_warning(options.command[0]):
            say(f"tailrace: {options.command[0]} cannot be traced and runs without a log: {why}")
        self.info = {"command": options.command, "began": time.time(), "budget_bytes": budget}
        return traced, environment

    def abandon(self) -> None:
        """Called if the command could not be started; subclasses undo `prepare`."""

    def interrupt(self, number: int) -> bool:
        """Called by a handler of signals when the program has ended. Returns False if nothing is to be done before this process
        ends."""
        return False

    def finish(self, status: int) -> int:
        """Writes run.json, and prints the messages after the run. Returns the exit status; a negative one is minus a signal."""
        if self.folder is not None:
            self._describe(self.folder, status)
        return status

    def _describe(self, folder: Path, status: int) -> None:
        record = {**self.info, "ended": time.time(), "status": status, **_machine()}
        try:
            write_new(folder, "run.json", json.dumps(record, indent=2) + "\n", self.options.share)
        except OSError as error:
            say(f"tailrace: {folder}/run.json could not be written: {error.strerror}")
        report = f"`tailrace report {quoted(folder)}` says what its I/O cost and why"
        say(f"tailrace: the log is in {folder}; {report}, `tailrace trace show {quoted(folder)}` what it did")
        _say_counted(folder)
        _name_unrecorded(folder)


def run_with(options: RunOptions, recording: Recording) -> int:
    """Runs the command. Returns its exit status, or 2 if it cannot be recorded or its files cannot be placed."""
    try:
        command, environment = recording.prepare()
    except (NotTraceable, NotRun) as error:
        return fail(str(error))
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        recording.abandon()
        return fail(f"{options.command[0]}: {error.strerror}")
    with RunSignals(process, recording.interrupt) as signals:
        status = process.wait()
        signals.program_has_ended()
        status = recording.finish(status)
    return status if status >= 0 else 128 - status


def fail(message: str) -> int:
    from tailrace.cli import output

    output.fail(message)
    return 2


def _machine() -> dict[str, object]:
    """Facts of this node, for the reader of the logs."""
    from tailrace.trace.run_facts import machine_facts, mounted

    return {"machine": machine_facts(), "mounts": mounted()}


def _say_counted(folder: Path) -> None:
    """Prints how many calls are only counted, for each reason."""
    from tailrace.trace.log import LogError, counted_because, logs_of, read_header

    counted: dict[str, int] = {}
    try:
        for path in logs_of(folder):
            header = read_header(path)
            if why := counted_because(header):
                counted[why] = counted.get(why, 0) + header["dropped_events"]
    except (LogError, OSError):
        return
    for why, calls in counted.items():
        say(f"tailrace: {calls:,} calls are only counted by file and call: {why}")


def _name_unrecorded(folder: Path) -> None:
    """Prints the processes that were started and have no log. Skips logs above MOST_READ_BYTES, because reading them takes long."""
    from tailrace.trace.log import LogError, logs_of
    from tailrace.trace.started import read_starts, unrecorded_in

    try:
        paths = logs_of(folder)
        if sum(path.stat().st_size for path in paths) > MOST_READ_BYTES:
            say(
                f"tailrace: the logs have more than {MOST_READ_BYTES >> 20} MiB, so processes without a log were not looked for; "
                f"`tailrace coverage {quoted(folder)}` lists them"
            )
            return
        texts = unrecorded_in(read_starts(folder))
    except (LogError, OSError):
        return
    for text in texts[:MOST_NAMED]:
        say(f"tailrace: without a log: {text}")
    if len(texts) > MOST_NAMED:
        say(f"tailrace: and {len(texts) - MOST_NAMED} more; `tailrace coverage {quoted(folder)}` lists them")
