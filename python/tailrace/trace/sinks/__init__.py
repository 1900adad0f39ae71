"""Outputs: each writes the tables of schema.py as files that other tools read."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line knows the names without loading what makes tables
    from tailrace.trace.schema import Tables

# To add an output NAME: write NAME.py with SUFFIX, HOLDS (the tables that it has a place for) and write(parts, out), and add it
# here with what it is for.
SINKS = {
    "otf2": "an OTF2 archive, for Vampir, Score-P's tools and otf2-print",
    "perfetto": "a trace for ui.perfetto.dev",
    "parquet": "a folder of tables, for DuckDB, Polars, pandas",
    "csv": "a folder of tables as text",
}


class NoSuchSinkError(ValueError):
    """A format that there is not."""


def sink_of(name: str) -> Any:
    """The module of an output. NoSuchSinkError."""
    if name not in SINKS:
        raise NoSuchSinkError(f"{name}: no such format; one of {', '.join(SINKS)}")
    return importlib.import_module(f"{__name__}.{name}")


def write(parts: Iterable[Tables], name: str, out: Path) -> dict[str, dict[str, int]]:
    """`out` has its name when it is whole, and what is there stays. Returns how many rows of each table were `written`, and how
    many `left_out` because the format has no place for them. Raises OSError, MissingLibraryError, NoSuchSinkError."""
    sink = sink_of(name)
    refuse_existing(out)
    rows: Counter[str] = Counter()
    unfinished = out.with_name(out.name + ".exporting")
    _remove(unfinished)
    try:
        sink.write(_counted(parts, rows), unfinished)
        refuse_existing(out)
        unfinished.rename(out)
    except OSError as error:  # libraries do not say which file
        raise OSError(error.errno, error.strerror or str(error), error.filename or str(out)) from None
    finally:
        _remove(unfinished)
    return {
        "written": {table: count for table, count in rows.items() if table in sink.HOLDS},
        "left_out": {table: count for table, count in rows.items() if table not in sink.HOLDS and count},
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
