"""tailrace convert: copies a stream to another directory, under another layout."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tailrace import contract, errors
from tailrace.cli import output
from tailrace.cli.choices import TakeOver, TheStream, complete_preset, layout_of, only_stream
from tailrace.launch import launchers, local


def command(
    source: Annotated[Path, typer.Argument(help="Directory with the stream.")],
    target: Annotated[Path, typer.Argument(help="Directory to write it to.")],
    stream: TheStream = None,
    layout: Annotated[
        str | None, typer.Option("--layout", "-l", help="Preset to write under.", autocompletion=complete_preset)
    ] = None,
    choice: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the layout; repeatable.")] = None,
    ranks: Annotated[int | None, typer.Option("--ranks", "-n", min=1, help="Ranks to start with mpirun.")] = None,
    take_over: TakeOver = False,
    as_json: output.AsJson = False,
) -> None:
    """Writes all committed steps of a stream again, in another directory and under another layout.

    Under mpirun, or with -n, each rank copies its slab of each step. After a stop or a kill, the same command continues.

    Examples: [bold]tailrace convert out joined --layout single --set steps=all[/] · [bold]tailrace convert out b -l hds -n 8[/]
    """
    if ranks is not None:
        _start_ranks(ranks)
    name = stream or only_stream(source)
    choices = [*(choice or []), *(["take_over=on"] if take_over else [])]
    with output.progress_of(f"convert {name}") as tell:
        try:
            answer = contract.convert(source, name, target, layout=layout_of(layout, choices), progress=tell)
        except errors.Error:
            if not _is_first_rank():  # the first rank prints the error
                raise typer.Exit(2) from None
            raise
    if answer.pop("rank") != 0:
        return
    if as_json:
        output.print_json(answer)
        return
    output.console().print(f"{output.escape(f'{target}: {name}')}, {output.steps_text(answer)}", soft_wrap=True)


def _is_first_rank() -> bool:
    """Reads the rank from the launcher's environment variables: when opening the stream failed, MPI may not be initialised."""
    return launchers.rank_in(os.environ) in (None, 0)


def _start_ranks(ranks: int) -> None:
    """Replaces this process by mpirun, which starts this command on so many ranks, without the option -n."""
    words = sys.argv[1:]
    for at, word in enumerate(words):
        if word in ("-n", "--ranks"):
            del words[at : at + 2]
            break
        if word.startswith(("-n", "--ranks=")):
            del words[at]
            break
    launcher = shutil.which(local.MPIRUN)
    if launcher is None:
        raise errors.NotFound("mpirun was not found; start the command with your own launcher, without -n")
    sys.stdout.flush()
    environment = local.launcher_environment(os.environ)
    os.execve(launcher, [launcher, "-n", str(ranks), sys.executable, "-m", "tailrace", *words], environment)
