"""SQL over the tables of a run, by DuckDB.

RATIONALE: most users know SQL, Parquet files may be larger than memory, and DuckDB is one package without dependencies."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.trace import sources
from tailrace.trace.log import LogError
from tailrace.trace.optional import import_optional
from tailrace.trace.schema import TABLES, joined
from tailrace.trace.sources import parquet


class QueryError(ValueError):
    """SQL that DuckDB refuses; the text is DuckDB's."""


@dataclass(frozen=True)
class QueryResult:
    names: list[str]  # of the columns
    rows: list[tuple[Any, ...]]
    damaged: list[str]  # a message for each input that is left out


def connect(source: Path) -> Any:
    """A connection of DuckDB with the tables under their names. Of Parquet tables, a query reads only what it needs. Other inputs
    are held in memory. Raises what sources.read raises."""
    return _connected(source)[0]


def run_query(source: Path, sql: str) -> QueryResult:
    """Raises QueryError, and what sources.read raises."""
    duckdb = import_optional("duckdb")
    connection, damaged = _connected(source)
    try:
        result = connection.execute(sql)
        if result is None:
            raise QueryError(f"{sql!r}: contains no query; write one, such as select count(*) from events")
        return QueryResult([column[0] for column in result.description], result.fetchall(), damaged)
    except duckdb.Error as error:
        raise QueryError(f"{sql}: {error}") from None


def _connected(source: Path) -> tuple[Any, list[str]]:
    """The connection, and a message for each input that is left out."""
    duckdb = import_optional("duckdb")
    connection = duckdb.connect()
    if not parquet.accepts(source):
        run = sources.read(source)
        for name, table in joined(list(run.parts)).items():
            connection.register(name, table)
        return connection, run.damaged
    for name in TABLES:
        file = source / f"{name}.parquet"
        try:
            connection.read_parquet(glob.escape(str(file))).create_view(name)
        except duckdb.Error as error:
            raise LogError(f"{file}: no Parquet file, or a damaged one ({error}); export it again") from None
    return connection, []
