"""tailrace combine: all steps of a stream as one plain NetCDF-4 file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import TheStream, only_stream


def command(
    directory: Annotated[Path, typer.Argument(help="Directory with the stream.")],
    to: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write.")],
    stream: TheStream = None,
    threads: Annotated[int, typer.Option("--threads", "-j", min=0, help="Threads that copy; 0: one for each core, at most 8.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing output.")] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Write the output to the device (fsync) before returning.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Writes all committed steps as one plain NetCDF-4 file: no parts, no index, for archives and for tools that take one file.

    Values are copied unchanged. The output gets its name when it is complete. After a stop or a kill, the same command continues.

    Examples: [bold]tailrace combine out history.nc[/] · [bold]tailrace combine out archive.nc -s restart -j 4 --sync[/]
    """
    name = stream or only_stream(directory)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with output.progress_of(f"combine {name}", *columns) as tell:
        answer = contract.combine(directory, name, to, threads=threads, replace=replace, sync=sync, progress=tell)
    if as_json:
        output.print_json(answer)
        return
    size = output.bytes_text(answer["file_bytes"])
    output.console().print(f"{output.escape(str(to))}: {output.steps_text(answer)}, {size}", soft_wrap=True)
