"""The input of the commands of this group, and its errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.trace.sinks import SINKS

TheSource = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="Folder of a run, folder of its Parquet tables, a Darshan log, or the output of IOR (text, JSON, CSV).",
    ),
]


def complete_format(incomplete: str) -> list[str]:
    """The formats that begin with this text, for completion in the shell."""
    return [name for name in SINKS if name.startswith(incomplete)]


@contextlib.contextmanager
def reported_errors(as_json: bool) -> Iterator[None]:
    """Reports an error of an input or an output, and ends the command with exit status 2."""
    from tailrace.trace.log import LogError
    from tailrace.trace.optional import MissingLibraryError
    from tailrace.trace.query import QueryError
    from tailrace.trace.sinks import NoSuchSinkError

    try:
        yield
    except (LogError, MissingLibraryError, NoSuchSinkError, QueryError) as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None
