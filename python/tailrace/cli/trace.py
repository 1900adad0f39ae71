"""tailrace trace: what a recorded run did."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tailrace.cli import output
from tailrace.trace.log import LogError
from tailrace.trace.summary import Sum, Summary, is_data, read_run, summarize


def command(
    folder: Annotated[Path, typer.Argument(help="Folder with the logs of a run.")],
    top: Annotated[int, typer.Option("--top", min=1, help="How many calls, files and processes to show.")] = 12,
    every: Annotated[bool, typer.Option("--all", help="Also files of the system, pipes and sockets.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Shows what a run that `tailrace run` has recorded did to files: its processes, calls and files.

    Examples: [bold]tailrace trace tailrace-run-1[/] · [bold]tailrace trace first --json[/]
    """
    try:
        summary = summarize(*read_run(folder))
    except (LogError, OSError) as error:
        output.fail(str(error))
        raise typer.Exit(2) from None
    if as_json:
        output.print_json(dataclasses.asdict(summary))
    else:
        _print(summary, top, every)
    if summary.damaged:
        raise typer.Exit(1)


def _print(summary: Summary, top: int, every: bool) -> None:
    console = output.console()
    files = {name: of for name, of in summary.files.items() if every or is_data(name)}
    shown = output.table("process", "rank", "program", "events", "seconds", numbers=("process", "rank", "events", "seconds"))
    for process in sorted(summary.processes, key=lambda process: -process["events"])[:top]:
        rank = str(process["rank"]) if process["rank"] >= 0 else ""
        seconds = f"{process['seconds']:.3f}" if process["ended"] else "killed"
        cells = (str(process["process"]), rank, process["program"], output.count_text(process["events"]), seconds)
        shown.add_row(*map(output.escape, cells))
    console.print(shown)
    for heading, sums in (("call", summary.calls), ("file", files)):
        console.print()
        console.print(_table_of(heading, sums, top))
    more = [f"{len(summary.processes)} processes, {len(files)} files" if max(len(summary.processes), len(files)) > top else ""]
    more.append(f"{len(summary.files) - len(files)} of the system (--all)" if len(files) < len(summary.files) else "")
    if any(more):
        console.print(f"\n{'; '.join(filter(None, more))}; --top shows more")
    if summary.dropped:
        console.print(f"{output.count_text(summary.dropped)} calls are only counted: the budget was spent (`run --budget`)")
    for message in summary.damaged:
        output.fail(message)


def _table_of(heading: str, sums: dict[str, Sum], top: int) -> Table:
    numbers = ("calls", "failed", "read", "written", "busy s")
    shown = output.table(heading, *numbers, numbers=numbers)
    for name, of in sorted(sums.items(), key=lambda item: -item[1].busy_s)[:top]:
        moved = (output.bytes_text(of.read_bytes), output.bytes_text(of.written_bytes))
        shown.add_row(output.escape(name), output.count_text(of.calls), str(of.failed), *moved, f"{of.busy_s:.4f}")
    return shown
