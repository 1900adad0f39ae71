"""SQL over the tables of a run.

By DuckDB: most people know SQL already, Parquet files may be larger than memory, and it is one package without others behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.trace import sources
from tailrace.trace.recording import library
from tailrace.trace.schema import TABLES, joined
from tailrace.trace.sources import parquet


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
