"""tailrace trace show: what is known of a recorded run, and its sums."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailrace.cli import output
from tailrace.cli.trace.choices import TheSource, reported_errors

if TYPE_CHECKING:
    from tailrace.trace.model import Run

SORTS = ("time", "bytes", "calls", "name", "rank")


def command(
    source: TheSource,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of rows of each table.")] = 12,
    every: Annotated[bool, typer.Option("--all", help="Also shows system files, pipes and sockets.")] = False,
    sort: Annotated[str, typer.Option("--sort", help=f"Order of rows: {', '.join(SORTS)}.")] = SORTS[0],
    rank: Annotated[list[int] | None, typer.Option("--rank", min=0, help="Only this rank. May be given several times.")] = None,
    directory: Annotated[Path | None, typer.Option("--directory", help="Only files in this folder and below it.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Only files with this text in their names.")] = None,
    with_mpi: Annotated[
        bool, typer.Option("--with-mpi/--without-mpi", help="Counts MPI's messages and MPI's own use of files.")
    ] = True,
    with_system: Annotated[bool, typer.Option("--with-system/--without-system", help="Counts system files in all sums.")] = True,
    details: Annotated[
        bool, typer.Option("--details", help="Also shows sums by node and by directory, and the sizes and order of accesses.")
    ] = False,
    as_json: output.AsJson = False,
) -> None:
    """Shows a recorded run: what ran, the share of I/O in its time, and sums by layer, process, call and file.

    "self s" is the time of calls without that of the calls within them, so sums count no second twice. Files whose names differ
    only in numbers are one line: * is the rank of the only process that uses the file, N another number.

    The exit status is 1 when a damaged log was left out.

    Examples: [bold]tailrace trace show tailrace-run-1[/] · [bold]tailrace trace show first --sort bytes --without-system[/] ·
    [bold]tailrace trace show model.darshan --top 30 --details[/]
    """
    from tailrace.cli.trace import run_tables
    from tailrace.trace.model import Run

    if sort not in SORTS:
        output.fail(f"--sort {sort}: no such order; choose one of {', '.join(SORTS)}", as_json)
        raise typer.Exit(2)
    with reported_errors(as_json), output.progress_of(f"read {output.plain(source.name)}") as tell:
        run = Run.read(source, tell)
    shown = _selected(run, rank, directory, name, with_mpi, with_system)
    if as_json:
        output.print_json(shown.to_json() | {"without_log": _unrecorded(source)})
    else:
        run_tables.print_run(shown, run_tables.View(top, every, sort, details))
        _print_unrecorded(source, top)
        for message in run.messages.get("damaged", []):
            output.fail(message)
    if run.messages.get("damaged"):
        raise typer.Exit(1)


def _selected(
    run: Run, ranks: list[int] | None, directory: Path | None, name: str | None, with_mpi: bool, with_system: bool
) -> Run:
    from tailrace.trace.system_files import is_user_data

    folder = None if directory is None else str(directory.absolute()).rstrip("/") + "/"

    def wanted(row: Any) -> bool:
        file = row["file"]
        return (
            (not ranks or row["rank"] in ranks)
            and (folder is None or (file is not None and file.startswith(folder)))
            and (name is None or (file is not None and name in file))
            and (with_system or file is None or is_user_data(file))
        )

    chooses = bool(ranks) or folder is not None or name is not None or not with_system or not with_mpi
    return run.select(wanted, with_mpi=with_mpi) if chooses else run


def _unrecorded(source: Path) -> list[str]:
    from tailrace.trace.log import LogError
    from tailrace.trace.started import read_starts, unrecorded_in

    try:
        return unrecorded_in(read_starts(source))
    except (LogError, OSError):
        return []  # a source of another tool has no logs


def _print_unrecorded(source: Path, top: int) -> None:
    texts = _unrecorded(source)
    for text in texts[:top]:
        output.console().print(f"without a log: {output.plain(text)}", markup=False, soft_wrap=True)
    if len(texts) > top:
        output.console().print(f"{len(texts) - top} more are without a log; --top shows more")
