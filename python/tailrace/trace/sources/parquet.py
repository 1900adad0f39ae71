"""A folder of tables, made by `tailrace trace export --to parquet`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.regular_file import open_regular
from tailrace.trace.log import LogError
from tailrace.trace.schema import TABLES, Tables, empty
from tailrace.trace.table_parts import TableParts

DESCRIPTION = "a folder with the tables of a run as Parquet files"

LEAST_ROWS = 1 << 16
LEAST_UNPACKED, MOST_UNPACKED = 64 << 20, 1000


def accepts(path: Path) -> bool:
    return path.is_dir() and (path / "events.parquet").exists()


def read(path: Path) -> TableParts:
    """The first part has the small tables. Each further part has one row group of events."""
    files = {name: path / f"{name}.parquet" for name in TABLES}
    with _damage_as_log_error(files["events"]):
        groups = _opened(files["events"]).num_row_groups
    return TableParts(_parts(files), 1 + groups)


def _parts(files: dict[str, Path]) -> Iterator[Tables]:
    yield empty(**{name: table for name, file in files.items() if name != "events" for table in _tables(name, file)})
    for table in _tables("events", files["events"], by_groups=True):
        yield empty(events=table)


def _tables(name: str, path: Path, by_groups: bool = False) -> Iterator[pa.Table]:
    schema = TABLES[name]
    with _damage_as_log_error(path):
        file = _opened(path)
        missing = [field.name for field in schema if field.name not in file.schema_arrow.names]
        if missing:
            raise LogError(f"{path}: no columns {', '.join(missing)}; export it again with this version of Tailrace")
        tables = map(file.read_row_group, range(file.num_row_groups)) if by_groups else [file.read()]
        for table in tables:
            yield table.select(schema.names).cast(schema)


def _opened(path: Path) -> pq.ParquetFile:
    """RATIONALE: a few bytes can stand for any number of rows, and for any number of bytes. No export of a run has more rows than
    bytes: times differ from event to event."""
    source = open_regular(path)
    size = os.fstat(source.fileno()).st_size
    file = pq.ParquetFile(source)
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    rows, unpacked = sum(group.num_rows for group in groups), sum(group.total_byte_size for group in groups)
    if rows > max(LEAST_ROWS, size) or unpacked > LEAST_UNPACKED + MOST_UNPACKED * size:
        raise LogError(f"{path}: {rows} rows of {unpacked} bytes in a file of {size} bytes: no export of a run; export it again")
    return file


@contextlib.contextmanager
def _damage_as_log_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, LogError):
        raise
    except (pa.ArrowException, ArithmeticError, AttributeError, LookupError, MemoryError, OSError, TypeError, ValueError) as error:
        raise LogError(f"{path}: no Parquet file, or a damaged one ({error}); export it again") from None
