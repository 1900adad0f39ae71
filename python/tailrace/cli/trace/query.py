"""tailrace trace query: SQL over the tables of a run."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Annotated, Any

import typer

from tailrace.cli import output
from tailrace.cli.trace.choices import TheSource, reported_errors


def command(
    source: TheSource,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="Query in DuckDB's SQL.")],
    as_json: output.AsJson = False,
) -> None:
    """Runs an SQL query over the tables of a recorded run: events, merged, processes, counters, results.

    A run is read into memory. Of Parquet tables, only what the query needs is read. docs/reference/tables.md has the columns.

    Examples: [bold]tailrace trace query first "select call, count(*) from events group by call"[/] ·
    [bold]tailrace trace query first.parquet "select max(end_ns - begin_ns) / 1e9 from events where call = 'fsync'" --json[/]
    """
    from tailrace.trace.query import run_query

    with reported_errors(as_json):
        result = run_query(source, sql)
    if as_json:
        names = _distinct(result.names)
        output.print_json([{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in result.rows])
    else:
        _print(result.names, result.rows)
    for message in result.damaged:
        output.fail(message)
    if result.damaged:
        raise typer.Exit(1)


def _print(names: list[str], rows: list[tuple[Any, ...]]) -> None:
    numbers = tuple(name for at, name in enumerate(names) if all(isinstance(row[at], int | float) for row in rows))
    shown = output.table(*names, numbers=numbers)
    for row in rows:
        shown.add_row(*("" if value is None else output.escape(str(value)) for value in row))
    output.console().print(shown)


def _distinct(names: list[str]) -> list[str]:
    """x, x, y become x, x_2, y: a JSON object has each name once."""
    made: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in itertools.count(2))
        made.append(next(new for new in itertools.chain([name], others) if new not in made))
    return made


def _plain(value: Any) -> Any:
    """A value that JSON has: SQL also has decimals, dates, lists and infinite numbers."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, int | float | str) else str(value)
