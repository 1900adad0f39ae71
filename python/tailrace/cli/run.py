"""tailrace run: a program as it is, and a log of its calls."""

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

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def command(
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments, as you start it.")],
    log: Annotated[
        Path | None, typer.Option("--log", help="Folder for the logs; without it tailrace-run-N here, the first that is free.")
    ] = None,
    budget_mib: Annotated[
        int, typer.Option("--budget", min=1, help="MiB of log for each process; then calls are only counted.")
    ] = launch.DEFAULT_BUDGET_BYTES >> 20,
) -> None:
    """Runs a command and records what it and all programs that it starts do to files; its output and its exit status are its own.

    Launchers (mpirun, srun) are not recorded, their ranks are, on all nodes that have the folder.

    Examples: [bold]tailrace run -- ./model input.nml[/] · [bold]tailrace run --log first -- mpirun -n 8 ./model[/]
    """
    try:
        full = launch.traced_command(words)
        folder = launch.make_log_folder(log)
        environment = launch.traced_environment(folder, budget_mib << 20)
    except launch.NotTraceable as error:
        output.fail(str(error))
        raise typer.Exit(2) from None
    if why := launch_warning(words[0]):
        typer.echo(f"tailrace: {words[0]} cannot be traced, and runs without: {why}", err=True)
    about = {"command": words, "began": time.time(), "budget_bytes": budget_mib << 20}
    process = subprocess.Popen(full, env=environment)
    signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))  # batch systems end the first process only
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:  # the program has got it, too: it ends as it likes
            continue
    (folder / "run.json").write_text(json.dumps({**about, "ended": time.time(), "status": status}, indent=2) + "\n")
    typer.echo(f"tailrace: calls are in {folder}; `tailrace trace show {folder}` shows them", err=True)
    raise typer.Exit(status if status >= 0 else 128 - status)
