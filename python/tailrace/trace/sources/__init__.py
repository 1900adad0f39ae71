"""Inputs: each reads a recording or a measurement into the tables of schema.py."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from tailrace.trace.log import LogError
from tailrace.trace.sources import darshan, ior, mdtest, parquet, run
from tailrace.trace.table_parts import TableParts

# To add an input: write a module with DESCRIPTION, accepts(path) and read(path), and add its name here. The first input that
# accepts a path reads it. tests/test_trace_tables.py has the contract of inputs.
SOURCES: tuple[ModuleType, ...] = (run, parquet, darshan, ior, mdtest)


def read(path: Path) -> TableParts:
    """Raises LogError for a file of another kind or a damaged one, OSError, MissingLibraryError."""
    path.stat()  # raises FileNotFoundError before any input looks at the path
    for source in SOURCES:
        if source.accepts(path):
            parts: TableParts = source.read(path)
            return parts
    raise LogError(f"{path}: no known input; give one of: {', '.join(source.DESCRIPTION for source in SOURCES)}")
