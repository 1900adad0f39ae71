"""SQL over the tables of a run.

By DuckDB: most people know SQL already, Parquet files may be larger than memory, and it is one package without others behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.trace import sources
from tailrace.trace.recording import library
from tailrace.trace.schema import TABLES, joined
from tailrace.trace.sources import parquet


class QueryError(ValueError):
    """SQL that cannot be answered; the text is DuckDB's."""


def connect(source: Path) -> Any:
    """A connection of DuckDB in which the tables have their names. Of Parquet tables only what a query needs is read, other
    inputs are held in memory. Raises what sources.read raises."""
    connection = library("duckdb").connect()
    if parquet.fits(source):
        for name in TABLES:
            connection.read_parquet(str(source / f"{name}.parquet")).create_view(name)
    else:
        for name, table in joined(list(sources.read(source).parts)).items():
            connection.register(name, table)
    return connection


def ask(source: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and the rows of an answer. Raises QueryError, and what sources.read raises."""
    duckdb = library("duckdb")
    connection = connect(source)
    try:
        answer = connection.execute(sql)
        return [column[0] for column in answer.description], answer.fetchall()
    except duckdb.Error as error:
        raise QueryError(f"{sql}: {error}") from None
