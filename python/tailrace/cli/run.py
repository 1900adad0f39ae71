"""tailrace run: runs a program unchanged and records its calls on files."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.any_run import run
from tailrace.cli.run_options import DEFAULT_BUDGET_MIB, DEFAULT_ROUNDS, SHARES, RunOptions

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


class Share(Enum):
    OWNER, GROUP, ALL = SHARES


def command(
    command_line: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments, as you type them.")
    ],
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", help="New folder for the logs. Default: tailrace-run-N in the working folder, with the first free N."
        ),
    ] = None,
    budget_mib: Annotated[
        int, typer.Option("--budget", min=1, help="Largest size of the log of a process, in MiB. Later calls are only counted.")
    ] = DEFAULT_BUDGET_MIB,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Also records programs that are started with another environment.")
    ] = True,
    share: Annotated[Share, typer.Option("--share", help="Who may read the logs.")] = Share.OWNER,
    config: Annotated[
        Path | None,
        typer.Option("--config", "--remedy", help="TOML file whose tables `place` and `stage` say where files go."),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace/--no-trace", help="Records the run. With --no-trace, files are only placed.")
    ] = True,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Runs the command in turn without and with the rules, in copies of the working folder; compares times and files. "
            "Without --config, it takes the rules that the findings of a first run name.",
        ),
    ] = False,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds",
            min=1,
            help="With --compare: counted runs without rules, and as many with rules. Fewer than 5 give no interval.",
        ),
    ] = DEFAULT_ROUNDS,
    as_json: Annotated[bool, typer.Option("--json", help="With --compare: print JSON for machines instead of a table.")] = False,
) -> None:
    """Runs a command and records the calls on files of all its programs. Output and exit status are those of the command.

    Logs hold names of files and command lines: only you can read them, unless you --share them.

    Launchers (mpirun, srun) are not recorded. Their ranks are recorded, on all nodes that have the log folder.

    Examples: [bold]tailrace run -- ./model input.nml[/] · [bold]tailrace run --log first -- mpirun -n 8 ./model[/]
    · [bold]tailrace run --config tailrace.toml --no-trace -- mpirun -n 8 ./model[/]
    · [bold]tailrace run --compare -- mpirun -n 8 ./model[/] · [bold]tailrace run --compare --remedy rules.toml -- ./model[/]
    """
    named, placed = (str(path) if path is not None else None for path in (log, config))
    options = RunOptions(tuple(command_line), named, budget_mib, follow, share.value, placed, trace)
    if compare:
        from tailrace.cli.compared_run import run_compared

        if log is not None:
            raise typer.BadParameter("--log is for one run; --compare keeps its logs in tailrace-compare-N")
        raise typer.Exit(run_compared(options, rounds, as_json=as_json))
    if as_json or rounds != DEFAULT_ROUNDS:
        raise typer.BadParameter("--json and --rounds go with --compare")
    raise typer.Exit(run(options))
