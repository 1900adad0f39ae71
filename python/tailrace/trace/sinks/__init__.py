"""Outputs: each writes the tables of schema.py as files for other tools."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line uses the names below and must not load pyarrow for them
    from tailrace.trace.schema import Tables

# To add an output NAME: copy csv.py to NAME.py, and add NAME here with its purpose. A module has SUFFIX, STORED_TABLES (those that
# the format has a place for) and write(parts, out). tests/test_trace_sinks.py then runs the contract of outputs for it.
SINKS = {
    "otf2": "an OTF2 archive, for Vampir, Score-P's tools and otf2-print",
    "perfetto": "a trace for ui.perfetto.dev",
    "parquet": "a folder of tables, for DuckDB, Polars, pandas",
    "csv": "a folder of tables as text",
}


class NoSuchSinkError(ValueError):
    """A name without an output."""


def sink_of(name: str) -> Any:
    """The module of an output. Raises NoSuchSinkError."""
    if name not in SINKS:
        raise NoSuchSinkError(f"{name}: no such format; choose one of {', '.join(SINKS)}")
    return importlib.import_module(f"{__name__}.{name}")


def write(parts: Iterable[Tables], name: str, out: Path) -> dict[str, dict[str, int]]:
    """Writes the tables to `out`. The output gets its name when it is complete, and an existing one is never replaced. Returns the
    number of rows of each table that were `written`, and of those that were `left_out` because the format has no place for them.
    Raises OSError, MissingLibraryError, NoSuchSinkError."""
    sink = sink_of(name)
    refuse_existing(out)
    rows: Counter[str] = Counter()
    unfinished = out.with_name(out.name + ".exporting")
    _remove(unfinished)
    try:
        sink.write(_counted(parts, rows), unfinished)
        refuse_existing(out)
        unfinished.rename(out)
    except OSError as error:  # libraries leave the name out
        raise OSError(error.errno, error.strerror or str(error), error.filename or str(out)) from None
    finally:
        _remove(unfinished)
    return {
        "written": {table: count for table, count in rows.items() if table in sink.STORED_TABLES},
        "left_out": {table: count for table, count in rows.items() if table not in sink.STORED_TABLES and count},
    }


def refuse_existing(out: Path) -> None:
    if out.exists():
        raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}: remove it, or name another output", str(out))


def _counted(parts: Iterable[Tables], rows: Counter[str]) -> Iterator[Tables]:
    for part in parts:
        rows.update({name: len(table) for name, table in part.items()})
        yield part


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
