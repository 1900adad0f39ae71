"""tailrace adopt: attributes that another program has changed stay, and runs append again."""

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
    take_over: TakeOver = False,
    as_json: output.AsJson = False,
) -> None:
    """Takes over the attributes that another program, such as ncatted, has changed in the file of a stream.

    Runs refuse to append to a file that another program has changed. After this command they append to it again. If values, steps
    or variables were changed, too, the command does nothing, and its message says how to continue.

    Examples: [bold]tailrace adopt out --stream history[/] · [bold]tailrace adopt out -s history --json[/]
    """
    name = stream if stream is not None else only_stream(directory)
    answer = contract.adopt(directory, name, take_over=take_over)
    if as_json:
        output.print_json(answer)
        return
    console = output.console()
    changed = answer["changed"]
    console.print(f"{output.escape(name)}: {answer['steps']} steps, attributes taken over: {len(changed)}")
    for change in changed:
        owner = change["variable"] or "the file"
        text = f"  {owner}: {change['attribute']}: {change['before']} is now {change['now']}"
        console.print(output.plain(text), markup=False, soft_wrap=True)
