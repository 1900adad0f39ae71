"""tailrace ls: what a directory's streams hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import OnlyStream

SHOWN_STEPS = 12


def command(
    directory: Annotated[Path, typer.Argument(help="Directory with streams.")] = Path(),
    stream: OnlyStream = None,
    every_step: Annotated[bool, typer.Option("--all", "-a", help="List every step, not only the first and last ones.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """The streams of a directory: layout, steps, times, files, bytes and variables.

    Examples: [bold]tailrace ls out[/] · [bold]tailrace ls out --stream history --all[/] · [bold]tailrace ls out --json[/]
    """
    streams = contract.list_streams(directory, stream)
    if as_json:
        output.print_json({"directory": str(directory), "streams": streams})
        return
    console = output.console()
    for described in streams:
        _print_stream(console, described, every_step)


def _print_stream(console: Any, stream: dict[str, Any], every_step: bool) -> None:
    steps = stream["steps"]
    console.print(f"[bold]{output.escape(stream['name'])}[/]  {output.escape(stream['path'])}")
    requested = ", ".join(f"{key} = {asked['value']}" for key, asked in stream["requested"].items()) or "nothing, so the defaults"
    console.print(
        f"  {len(steps)} steps, {output.count_text(stream['files'])} files, {output.bytes_text(stream['bytes'])}, "
        f"written by {stream['ranks']} ranks; layout asked for: {output.plain(requested)}",
        markup=False,
    )
    for note in [*stream["storage"].get("notes", []), *stream["notes"]]:
        console.print(output.plain(f"  {note}"), markup=False)
    lengths = {
        entry["name"]: f"{entry['length']} (ragged)" if entry["ragged"] else entry["length"] for entry in stream["dimensions"]
    }
    variables = output.table("  variable", "type", "dimensions", "")
    for variable in stream["variables"]:
        dims = ", ".join(f"{name}={lengths.get(name, '?')}" for name in variable["dimensions"])
        variables.add_row(
            f"  {output.escape(variable['name'])}", variable["type"], output.escape(dims), "static" if variable["static"] else ""
        )
    console.print(variables)
    table = output.table("  step", "time", "files", "size", numbers=("  step", "time", "files", "size"))
    hidden = 0 if every_step else max(0, len(steps) - SHOWN_STEPS)
    for position, step in enumerate(steps):
        if hidden and position == SHOWN_STEPS // 2:
            table.add_row("…", f"{hidden} more", "", "")
        if hidden and SHOWN_STEPS // 2 <= position < SHOWN_STEPS // 2 + hidden:
            continue
        table.add_row(str(step["step"]), f"{step['time']:.15g}", str(step["files"]), output.bytes_text(step["bytes"]))
    console.print(table)
    console.print()
