"""A folder of tables, as `tailrace trace export --to parquet` makes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.trace.log import LogError
from tailrace.trace.recording import Recording
from tailrace.trace.schema import TABLES, Tables, empty

WHAT = "a folder with the tables of a run as Parquet files"


def fits(path: Path) -> bool:
    return path.is_dir() and (path / "events.parquet").exists()


def read(path: Path) -> Recording:
    """The small tables are the first part; then come the events, one row group after the other."""
    files = {name: _opened(path / f"{name}.parquet", schema) for name, schema in TABLES.items()}
    return Recording(_parts(files), 1 + files["events"].num_row_groups)


def _opened(path: Path, schema: pa.Schema) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise LogError(f"{path}: no Parquet file, or a damaged one ({error}); export it again") from None
    missing = [field.name for field in schema if field.name not in file.schema_arrow.names]
    if missing:
        raise LogError(f"{path}: no columns {', '.join(missing)}; export it again with this version of Tailrace")
    return file


def _parts(files: dict[str, pq.ParquetFile]) -> Iterator[Tables]:
    yield empty(**{name: _typed(file.read(), TABLES[name]) for name, file in files.items() if name != "events"})
    events = files["events"]
    for number in range(events.num_row_groups):
        yield empty(events=_typed(events.read_row_group(number), TABLES["events"]))


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table.select(schema.names).cast(schema)
