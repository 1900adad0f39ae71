"""tailrace trace show: a summary of a recorded run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from tailrace.cli import output
from tailrace.cli.trace.choices import TheSource, reported_errors

if TYPE_CHECKING:
    from tailrace.trace.summary import Sum, Summary


def command(
    source: TheSource,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of calls, files and processes to show.")] = 12,
    every: Annotated[bool, typer.Option("--all", help="Shows files of the system, pipes and sockets, too.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Shows a summary of a recorded run: its processes, calls and files.

    The exit status is 1 when a damaged log was left out.

    Examples: [bold]tailrace trace show tailrace-run-1[/] · [bold]tailrace trace show first --json[/] ·
    [bold]tailrace trace show model.darshan --top 30[/]
    """
    from tailrace.trace import sources
    from tailrace.trace.summary import summarize

    with reported_errors(as_json):
        run = sources.read(source)
        with output.progress_of(f"read {source.name}") as tell:
            summary = summarize(output.with_progress(run.parts, run.count, tell), run.damaged)
    if as_json:
        output.print_json(dataclasses.asdict(summary))
    else:
        _print(summary, top, every)
        _print_unrecorded(source, top)
    if summary.damaged:
        raise typer.Exit(1)


def _print(summary: Summary, top: int, every: bool) -> None:
    from tailrace.trace.summary import is_user_data

    files = {name: sums for name, sums in summary.files.items() if every or is_user_data(name)}
    tables = (
        _processes(summary.processes, top),
        _sums("call", summary.calls, top),
        _sums("file", files, top),
        _counted([row for row in summary.counted if every or is_user_data(row["file"] or "")], top),
        _results(summary.results),
    )
    console = output.console()
    console.print(*(table for table in tables if table.row_count), sep="\n\n")
    more = [f"{len(summary.processes)} processes, {len(files)} files" if max(len(summary.processes), len(files)) > top else ""]
    more.append(f"{len(summary.files) - len(files)} of the system (--all)" if len(files) < len(summary.files) else "")
    if any(more):
        console.print(f"\n{'; '.join(filter(None, more))}; --top shows more")
    if summary.dropped:
        count = output.count_text(summary.dropped)
        console.print(f"{count} calls are only counted, because the budget was spent; give more with `run --budget`")
    for message in summary.damaged:
        output.fail(message)


def _print_unrecorded(source: Path, top: int) -> None:
    from tailrace.trace.log import LogError
    from tailrace.trace.started import read_starts, unrecorded_in

    try:
        texts = unrecorded_in(read_starts(source))
    except (LogError, OSError):
        return  # of another tool
    for text in texts[:top]:
        output.console().print(f"without a log: {output.plain(text)}", markup=False, soft_wrap=True)
    if len(texts) > top:
        output.console().print(f"{len(texts) - top} more are without a log; --top shows more")


def _processes(processes: list[dict[str, Any]], top: int) -> Table:
    shown = output.table("process", "rank", "program", "events", "seconds", numbers=("process", "rank", "events", "seconds"))
    for process in sorted(processes, key=lambda process: -process["events"])[:top]:
        number, rank = (_text(process[key]) for key in ("process", "rank"))
        seconds = f"{process['seconds']:.3f}" if process["ended"] else "killed"
        shown.add_row(*map(output.escape, (number, rank, process["program"], output.count_text(process["events"]), seconds)))
    return shown


def _sums(heading: str, sums: dict[str, Sum], top: int) -> Table:
    numbers = ("calls", "failed", "read", "written", "busy s")
    shown = output.table(heading, *numbers, numbers=numbers)
    for name, total in sorted(sums.items(), key=lambda item: -item[1].busy_s)[:top]:
        moved = (output.bytes_text(total.read_bytes), output.bytes_text(total.written_bytes))
        shown.add_row(output.escape(name), output.count_text(total.calls), str(total.failed), *moved, f"{total.busy_s:.4f}")
    return shown


def _counted(rows: list[dict[str, Any]], top: int) -> Table:
    numbers = ("rank", "calls", "read", "written", "busy s")
    shown = output.table("file, only counted", "interface", *numbers, numbers=numbers)
    for row in sorted(rows, key=lambda row: -row["busy_ns"])[:top]:
        moved = (output.bytes_text(row["bytes_read"]), output.bytes_text(row["bytes_written"]))
        about = (output.escape(row["file"] or ""), row["interface"], _text(row["rank"]), output.count_text(row["calls"]))
        shown.add_row(*about, *moved, f"{row['busy_ns'] / 1e9:.4f}")
    return shown


def _results(rows: list[dict[str, Any]]) -> Table:
    numbers = ("iteration", "tasks", "MiB/s", "operations/s", "total s")
    shown = output.table("benchmark", "operation", *numbers, numbers=numbers)
    for row in rows:
        cells = (row[key] for key in ("iteration", "tasks", "bandwidth_mib_s", "iops", "total_s"))
        shown.add_row(row["benchmark"], row["operation"], *map(_text, cells))
    return shown


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.4g}"
