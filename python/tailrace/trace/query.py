"""SQL over the tables of a run.

By DuckDB: most people know SQL already, Parquet files may be larger than memory, and it is one package without others behind it."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.trace import sources
from tailrace.trace.log import LogError
from tailrace.trace.recording import library
from tailrace.trace.schema import TABLES, joined
from tailrace.trace.sources import parquet


class QueryError(ValueError):
    """SQL that cannot be answered; the text is DuckDB's."""


@dataclass(frozen=True)
class Answer:
    names: list[str]  # of the columns
    rows: list[tuple[Any, ...]]
    damaged: list[str]  # what is wrong with inputs that were passed over


def connect(source: Path) -> Any:
    """A connection of DuckDB in which the tables have their names. Of Parquet tables only what a query needs is read, other
    inputs are held in memory. Raises what sources.read raises."""
    return _connected(source)[0]


def ask(source: Path, sql: str) -> Answer:
    """Raises QueryError, and what sources.read raises."""
    duckdb = library("duckdb")
    connection, damaged = _connected(source)
    try:
        answer = connection.execute(sql)
        if answer is None:
            raise QueryError(f"{sql!r}: no query in it; such as: select count(*) from events")
        return Answer([column[0] for column in answer.description], answer.fetchall(), damaged)
    except duckdb.Error as error:
        raise QueryError(f"{sql}: {error}") from None


def _connected(source: Path) -> tuple[Any, list[str]]:
    """And what is wrong with inputs that were passed over."""
    duckdb = library("duckdb")
    connection = duckdb.connect()
    if not parquet.fits(source):
        recording = sources.read(source)
        for name, table in joined(list(recording.parts)).items():
            connection.register(name, table)
        return connection, recording.damaged
    for name in TABLES:
        file = source / f"{name}.parquet"
        try:
            connection.read_parquet(glob.escape(str(file))).create_view(name)
        except duckdb.Error as error:
            raise LogError(f"{file}: no Parquet file, or a damaged one ({error}); export it again") from None
    return connection, []
