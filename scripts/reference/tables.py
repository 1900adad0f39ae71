"""docs/reference/tables.md: the columns of the tables of a run, from their declaration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from tailrace.trace.schema import TABLES, TEXTS

from reference.text import page, table

PATH = Path("docs/reference/tables.md")


def pages() -> Iterator[tuple[Path, str]]:
    parts = []
    for name, schema in TABLES.items():
        parts += [f"## {name}", table(("column", "type", "unit", "meaning"), [row_of(field) for field in schema])]
    yield PATH, page("The tables of a run", "[their declaration](../../python/tailrace/trace/schema.py)", *parts)


def row_of(field: pa.Field) -> tuple[str, str, str, str]:
    kind = "text" if field.type in (TEXTS, pa.string()) else str(field.type)
    return f"`{field.name}`", kind, field.metadata[b"unit"].decode(), field.metadata[b"meaning"].decode()
