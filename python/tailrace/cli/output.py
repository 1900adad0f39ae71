"""How commands write: tables for people, JSON for machines, errors to standard error."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

import typer
from rich.progress import Progress, ProgressColumn
from rich.table import Table

from tailrace.cli.plain_console import PlainConsole, PlainTable, escape
from tailrace.plain_text import plain  # noqa: F401  also for the commands
from tailrace.quantities import bytes_text, count_text  # noqa: F401  also for the commands

T = TypeVar("T")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]


def console() -> PlainConsole:
    """Made anew each time, so that it writes to the sys.stdout of the moment; as wide as needed where there is no terminal."""
    return PlainConsole(width=None if sys.stdout.isatty() else 200, highlight=False)


def error_console() -> PlainConsole:
    return PlainConsole(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


@contextlib.contextmanager
def progress_of(text: str, *columns: ProgressColumn) -> Iterator[Callable[[int, int], None]]:
    """A progress bar while a long call runs: call it with what is done, and all. Nothing is shown where there is no terminal."""
    console = error_console()
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(escape(text))
        yield lambda done, every: progress.update(task, completed=done, total=every)


def with_progress(parts: Iterable[T], count: int, advance: Callable[[int, int], None]) -> Iterator[T]:
    """The parts of a long work; the progress bar advances after each."""
    for done, part in enumerate(parts, start=1):
        yield part
        advance(done, count)


def steps_text(answer: Mapping[str, Any]) -> str:
    """Of what may have been begun by an earlier call."""
    before = f", {answer['steps_before']} of them done before" if answer["steps_before"] else ""
    return f"{answer['steps']} steps{before}"


def fail(message: str, as_json: bool = False, **about: str) -> None:
    """An error, on standard error; for machines on standard output too, with what else is known about it."""
    if as_json:
        print_json({"error": {**about, "message": message}})
    error_console().print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    made = PlainTable(header_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return made
