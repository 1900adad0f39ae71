"""The project's journals without MPI: JSON objects, one a line, each with the checksum of its text. Read and appended line by line.

A line is whole or torn. Only the last lines can be torn, and a writer removes them when it opens the journal.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tailrace._journal as _journal
from tailrace.json_text import parse_json

VERSION: str = _journal.version
SYNC_EVERY_S = 1.0  # an fsync for each line would allow some 300 lines a second


class JournalError(ValueError):
    """A damaged line has intact ones after it."""


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each intact line with the byte at which it begins, in bounded memory, to a torn tail. Raises JournalError, OSError."""
    at, torn_at = 0, -1
    with path.open("rb") as file:
        for line in file:
            if not _journal.is_intact(line):
                torn_at = at if torn_at < 0 else torn_at
            elif torn_at >= 0:
                raise JournalError(
                    f"{path}: the line at byte {torn_at} is damaged, and intact lines follow it: restore it from a copy"
                )
            else:
                yield at, _object(line)
            at += len(line)


def line_at(file: Any, at: int) -> dict[str, Any]:
    """The line of an open journal that begins at this byte."""
    file.seek(at)
    return _object(file.readline())


def _object(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = parse_json(line)
    found.pop("sum", None)
    return found


def intact_bytes(path: Path) -> int:
    """The length of a journal in bytes, without its torn tail; 0 if the journal does not exist."""
    end = 0
    if path.exists():
        with path.open("rb") as file:
            at = 0
            for line in file:
                at += len(line)
                end = at if _journal.is_intact(line) else end
    return end


class JournalWriter:
    """Appends lines to a journal, which no other process may do meanwhile. Each line is one write, so a crash of this process loses
    none. While lines follow, fsync is called every SYNC_EVERY_S; and once at the end."""

    def __init__(self, path: Path) -> None:
        end = intact_bytes(path)
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.ftruncate(self.descriptor, end)
        self.synced = time.monotonic()

    def append(self, record: Mapping[str, Any]) -> int:
        """Appends a record, and returns the byte at which its line begins. Raises OSError if it could not be written whole."""
        line = _journal.line(json.dumps(record, separators=(",", ":")))
        before = os.fstat(self.descriptor).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self.descriptor, line[written:])
        except OSError:
            os.ftruncate(self.descriptor, before)
            raise
        if time.monotonic() - self.synced > SYNC_EVERY_S:
            self.sync()
        return before

    def sync(self) -> None:
        os.fdatasync(self.descriptor)
        self.synced = time.monotonic()

    def close(self) -> None:
        if self.descriptor >= 0:
            self.sync()
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
