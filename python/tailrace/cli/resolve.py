"""tailrace resolve: shows the layout that tailrace.toml, the environment and options give together."""

from __future__ import annotations

import tempfile
from typing import Annotated

import typer

from tailrace import stream as streams
from tailrace.cli import output
from tailrace.cli.choices import complete_preset, layout_of


def command(
    stream: Annotated[str, typer.Argument(help="Name of the stream.")] = "history",
    layout: Annotated[
        str | None, typer.Option("--layout", "-l", help="Preset, as if the program gave it.", autocompletion=complete_preset)
    ] = None,
    choice: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE, as if the program gave it; repeatable.")] = None,
    as_json: output.AsJson = False,
) -> None:
    """What is in force for a stream opened here and now: requested and effective values.

    The command opens the stream in a temporary directory, as the program would: with the tailrace.toml of the working directory (or
    the file that TAILRACE_CONFIG names) and the TAILRACE_ variables.

    Examples: [bold]tailrace resolve history[/] · [bold]TAILRACE_FILES=4 tailrace resolve history --layout hds --json[/]
    """
    with tempfile.TemporaryDirectory(prefix="tailrace-resolve-") as directory:
        opened = streams.open(directory, stream, layout=layout_of(layout, choice or []))
        report = opened.report()
        opened.close()
    answer = {"stream": stream, "requested": report["requested"], "effective": report["effective"]}
    if as_json:
        output.print_json(answer)
        return
    table = output.table("key", "effective", "requested", "by")
    for key, value in answer["effective"].items():
        asked = answer["requested"].get(key, {"value": "", "origin": ""})
        table.add_row(*(output.escape(str(cell)) for cell in (key, value, asked["value"], asked["origin"])))
    output.console().print(table)
