"""The folder of a run, as `tailrace run` makes it: a log for each process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.trace.clock import clock_of
from tailrace.trace.log import Log, LogError, logs_of, read_header, read_log
from tailrace.trace.schema import Tables
from tailrace.trace.sources import parquet
from tailrace.trace.table_parts import TableParts
from tailrace.trace.tables import tables_of

DESCRIPTION = "a folder with the logs of a run"


def accepts(path: Path) -> bool:
    return path.is_dir() and not parquet.accepts(path)


def read(path: Path) -> TableParts:
    """A part for each log."""
    headers, damaged = headers_of(path)
    return TableParts((tables for _, tables in logs_with_tables(headers, damaged)), len(headers), damaged)


def headers_of(path: Path) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """The headers of all logs, because they align the clocks of the hosts, and a message for each log that has none. Raises
    LogError, OSError."""
    damaged: list[str] = []
    headers: dict[Path, dict[str, Any]] = {}
    for log in logs_of(path):
        try:
            headers[log] = read_header(log)
        except LogError as error:
            damaged.append(str(error))
    return headers, damaged


def logs_with_tables(headers: dict[Path, dict[str, Any]], damaged: list[str]) -> Iterator[tuple[Log, Tables]]:
    """One log at a time. `damaged` gets a message for each that cannot be read."""
    clock = clock_of(headers.values())
    number = 0
    for path in headers:
        try:
            log = read_log(path)
        except LogError as error:
            damaged.append(str(error))
            continue
        yield log, tables_of(log, number, clock)
        number += 1
