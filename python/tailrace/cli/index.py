"""tailrace index: writes the index of a stream again, from its committed steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import OnlyStream, TakeOver


def command(
    directory: Annotated[Path, typer.Argument(help="Directory with streams.")] = Path(),
    stream: OnlyStream = None,
    take_over: TakeOver = False,
    as_json: output.AsJson = False,
) -> None:
    """Writes the index over a stream's parts anew, as after a run that was killed before it wrote its own.

    While a run or another command writes the stream, this command refuses, and names the other one.

    Examples: [bold]tailrace index out[/] · [bold]tailrace index out --stream history[/]
    """
    names = [str(described["name"]) for described in contract.list_streams(directory, stream)]
    for name in names:
        contract.index(directory, name, take_over=take_over)
    written = {described["name"]: described["index"] for described in contract.list_streams(directory, stream)}
    if as_json:
        output.print_json({"directory": str(directory), "index": written})
        return
    for name, paths in written.items():
        output.console().print(f"{output.escape(name)}: {output.escape(', '.join(paths) or 'its part is the dataset')}")
