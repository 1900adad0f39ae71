"""tailrace rewind: removes the last steps of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import TakeOver, TheStream, only_stream


def command(
    directory: Annotated[Path, typer.Argument(help="Directory with streams.")],
    stream: TheStream = None,
    before: Annotated[
        float | None,
        typer.Option("--before", help="Time in the units of the stream: the steps at this time and later are removed."),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=0, help="Number of last steps to remove.")] = None,
    take_over: TakeOver = False,
    as_json: output.AsJson = False,
) -> None:
    """Takes the last steps out of a stream, as before a run that starts from an earlier restart.

    Give either --before or --steps. The journal gets a line about it; files without other steps are removed. The next run uses the
    numbers of these steps again. While a run writes the stream, the command refuses, and names that run. A model does the same by
    itself with mode = 'resume'.

    Examples: [bold]tailrace rewind out --stream history --before 72[/] · [bold]tailrace rewind out -s history --steps 2 --json[/]
    """
    if (before is None) == (steps is None):
        raise typer.BadParameter("give either --before TIME or --steps N")
    name = stream if stream is not None else only_stream(directory)
    answer = contract.rewind(directory, name, before=before, steps=steps, take_over=take_over)
    if as_json:
        output.print_json(answer)
        return
    console = output.console()
    dropped, times = answer["dropped"], answer["times"]
    left = f"{answer['steps']} steps are left"
    if not dropped:
        console.print(f"{output.escape(name)}: no step removed, {left}")
        return
    span = f"steps {dropped[0]} to {dropped[-1]} (times {times[0]:g} to {times[-1]:g}) have"
    if len(dropped) == 1:
        span = f"step {dropped[0]} (time {times[0]:g}) has"
    console.print(f"{output.escape(name)}: {span} left, {left}; files or folders removed: {len(answer['removed'])}")
