"""tailrace trace export: writes a run as tables or traces for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli import output
from tailrace.cli.trace.choices import TheSource, complete_format, reported_errors
from tailrace.trace import sinks

FORMATS_TEXT = "; ".join(f"{name}: {what}" for name, what in sinks.SINKS.items())


def command(
    source: TheSource,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"{FORMATS_TEXT}.", autocompletion=complete_format)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File or folder to write. Default: SOURCE's name with the format's ending, in this folder."
        ),
    ] = None,
    as_json: output.AsJson = False,
) -> None:
    """Writes a recorded run in a format of other tools. An existing output is never replaced.

    The output gets its name when it is complete. The exit status is 1 when a damaged log was left out.

    Examples: [bold]tailrace trace export tailrace-run-1 --to perfetto[/] ·
    [bold]tailrace trace export tailrace-run-1 --to otf2 -o first.otf2[/] ·
    [bold]tailrace trace export model.darshan --to parquet -o tables[/] · [bold]tailrace trace export ior.json --to csv[/]
    """
    from tailrace.trace import sources

    with reported_errors(as_json):
        target = out or Path(source.resolve().name + sinks.sink_of(to).SUFFIX)
        sinks.refuse_existing(target)  # before reading, which may take long
        run = sources.read(source)
        with output.progress_of(f"export {source.name} to {to}") as tell:
            rows = sinks.write(output.with_progress(run.parts, run.count, tell), to, target)
    result = {"output": str(target), "format": to, **rows, "damaged": run.damaged}
    if as_json:
        output.print_json(result)
    else:
        _print(result)
    if run.damaged:
        raise typer.Exit(1)


def _print(result: dict[str, Any]) -> None:
    console = output.console()
    written = ", ".join(f"{output.count_text(count)} {table}" for table, count in result["written"].items())
    console.print(f"{output.escape(result['output'])}: {written}", soft_wrap=True)
    for table, count in result["left_out"].items():
        console.print(f"left out: {output.count_text(count)} {table}: {result['format']} cannot store them", soft_wrap=True)
    for message in result["damaged"]:
        output.fail(message)
