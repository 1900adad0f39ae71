"""A folder with a CSV file for each table. The first line has the names of the columns; null is nothing between two commas."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from tailrace.trace.schema import TABLES, TEXTS, Tables

SUFFIX = ".csv"
STORED_TABLES = tuple(TABLES)


def write(parts: Iterable[Tables], out: Path) -> None:
    out.mkdir(parents=True)
    with contextlib.ExitStack() as files:
        schemas = {name: _plain(schema) for name, schema in TABLES.items()}
        writers = {name: files.enter_context(csv.CSVWriter(out / f"{name}.csv", schema)) for name, schema in schemas.items()}
        for part in parts:
            for name, table in part.items():
                writers[name].write_table(table.cast(schemas[name]))


def _plain(schema: pa.Schema) -> pa.Schema:
    """The schema with plain strings: CSV has no numbered texts."""
    return pa.schema([field.with_type(pa.string()) if field.type == TEXTS else field for field in schema])
