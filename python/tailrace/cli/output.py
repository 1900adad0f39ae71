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
    """A new console for the current sys.stdout. Without a terminal, it is 200 characters wide."""
    return PlainConsole(width=None if sys.stdout.isatty() else 200, highlight=False)


def error_console() -> PlainConsole:
    return PlainConsole(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


@contextlib.contextmanager
def progress_of(text: str, *columns: ProgressColumn) -> Iterator[Callable[[int, int], None]]:
    """A progress bar for a long call. Yields a function (done, total) that updates it. Without a terminal, nothing is shown."""
    console = error_console()
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(escape(text))
        yield lambda done, every: progress.update(task, completed=done, total=every)


def with_progress(parts: Iterable[T], count: int, advance: Callable[[int, int], None]) -> Iterator[T]:
    """Yields the parts of a long work, and calls advance(parts done, count) after each."""
    for done, part in enumerate(parts, start=1):
        yield part
        advance(done, count)


def steps_text(answer: Mapping[str, Any]) -> str:
    """The number of steps, and how many of them an earlier, interrupted command had done."""
    before = f", {answer['steps_before']} of them done before" if answer["steps_before"] else ""
    return f"{answer['steps']} steps{before}"


def fail(message: str, as_json: bool = False, **about: str) -> None:
    """Prints an error to standard error. `as_json`: also prints it as JSON to standard output, with the entries of `about`."""
    if as_json:
        print_json({"error": {**about, "message": message}})
    error_console().print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    made = PlainTable(header_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return made
