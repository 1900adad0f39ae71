"""A folder with a Parquet file for each table. The events have a row group for each process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from tailrace.trace.schema import TABLES, Tables

SUFFIX = ".parquet"
STORED_TABLES = tuple(TABLES)
ROWS = 1 << 20  # of a row group at most: about the events of one process within the default budget


def write(parts: Iterable[Tables], out: Path) -> None:
    out.mkdir(parents=True)
    with contextlib.ExitStack() as files:
        writers = {
            name: files.enter_context(pq.ParquetWriter(out / f"{name}.parquet", schema, compression="zstd"))
            for name, schema in TABLES.items()
        }
        for part in parts:
            for name, table in part.items():
                if len(table):
                    writers[name].write_table(table, row_group_size=ROWS)
