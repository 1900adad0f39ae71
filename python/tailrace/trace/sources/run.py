"""The folder of a run, as `tailrace run` makes it: a log for each process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.trace.clock import clock_of
from tailrace.trace.log import LogError, logs_of, read_header, read_log
from tailrace.trace.schema import Tables
from tailrace.trace.sources import parquet
from tailrace.trace.table_parts import TableParts
from tailrace.trace.tables import tables_of

DESCRIPTION = "a folder with the logs of a run"


def accepts(path: Path) -> bool:
    return path.is_dir() and not parquet.accepts(path)


def read(path: Path) -> TableParts:
    """A part for each log. The headers of all logs are read first, because they align the clocks of the hosts."""
    damaged: list[str] = []
    headers: dict[Path, dict[str, Any]] = {}
    for log in logs_of(path):
        try:
            headers[log] = read_header(log)
        except LogError as error:
            damaged.append(str(error))
    return TableParts(_parts(headers, damaged), len(headers), damaged)


def _parts(headers: dict[Path, dict[str, Any]], damaged: list[str]) -> Iterator[Tables]:
    clock = clock_of(headers.values())
    number = 0
    for path in headers:
        try:
            log = read_log(path)
        except LogError as error:
            damaged.append(str(error))
            continue
        yield tables_of(log, number, clock)
        number += 1
