"""tailrace run: runs a program unchanged and records its calls on files."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.trace import launch
from tailrace.trace.check import launch_warning
from tailrace.trace.log import LogError, logs_of

MOST_READ_BYTES, MOST_NAMED = 256 << 20, 5
CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def command(
    command_line: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments, as you type them.")
    ],
    log: Annotated[
        Path | None,
        typer.Option("--log", help="New folder for the logs. Default: tailrace-run-N in this folder, with the first free N."),
    ] = None,
    budget_mib: Annotated[
        int, typer.Option("--budget", min=1, help="MiB of log for each process; later calls are only counted.")
    ] = launch.DEFAULT_BUDGET_BYTES >> 20,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Records programs that are started with an environment of their own, too.")
    ] = True,
) -> None:
    """Runs a command and records the calls on files of all its programs. Output and exit status are those of the command.

    Launchers (mpirun, srun) are not recorded. Their ranks are, on all nodes that have the folder.

    Examples: [bold]tailrace run -- ./model input.nml[/] · [bold]tailrace run --log first -- mpirun -n 8 ./model[/]
    """
    try:
        traced = launch.traced_command(command_line, follow=follow)
        folder = launch.make_log_folder(log)
        environment = launch.traced_environment(folder, budget_mib << 20, follow=follow)
    except launch.NotTraceable as error:
        output.fail(str(error))
        raise typer.Exit(2) from None
    if why := launch_warning(command_line[0]):
        typer.echo(f"tailrace: {command_line[0]} cannot be traced and runs without a log: {why}", err=True)
    info = {"command": command_line, "began": time.time(), "budget_bytes": budget_mib << 20}
    process = subprocess.Popen(traced, env=environment)
    signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))  # batch systems send it to the first process only
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:  # the program gets the signal, too, and decides how it ends
            continue
    (folder / "run.json").write_text(json.dumps({**info, "ended": time.time(), "status": status}, indent=2) + "\n")
    typer.echo(f"tailrace: the log is in {folder}; `tailrace trace show {folder}` shows it", err=True)
    _name_unrecorded(folder)
    raise typer.Exit(status if status >= 0 else 128 - status)


def _name_unrecorded(folder: Path) -> None:
    """Names what was started and has no log. Reading large logs takes long: there `tailrace coverage` does it."""
    from tailrace.trace.started import read_starts, unrecorded_in

    try:
        paths = logs_of(folder)
        if sum(path.stat().st_size for path in paths) > MOST_READ_BYTES:
            return
        texts = unrecorded_in(read_starts(folder))
    except (LogError, OSError):
        return
    for text in texts[:MOST_NAMED]:
        typer.echo(f"tailrace: without a log: {output.plain(text)}", err=True)
    if len(texts) > MOST_NAMED:
        typer.echo(f"tailrace: and {len(texts) - MOST_NAMED} more; `tailrace coverage {folder}` lists them", err=True)
