"""The OTF2 handle of each call. A descriptor from its opening to its closing is one handle. The next opening that gets the same
number is another handle."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tailrace.trace.schema import READS, WRITES

POSIX, STREAMS = "posix", "streams"
COPIES = ("dup", "fcntl")  # calls that open a descriptor for a file that is open
USERS = (*READS, *WRITES, "sync", "open", "close", "seek")  # groups of calls that use a handle
# Flags of open with OTF2's names. The numbers are Linux's, wherever the log is read.
OPENS = {
    0o100: "CREATE",
    0o200: "EXCLUSIVE",
    0o1000: "TRUNCATE",
    0o2000: "APPEND",
    0o4000: "NON_BLOCKING",
    0o40000: "AVOID_CACHING",
    0o200000: "DIRECTORY",
    0o2000000: "CLOSE_ON_EXEC",
}


class Row(NamedTuple):
    """The columns of `events` that OTF2 has a place for."""

    log: int
    call: str
    group: str
    begin_ns: int
    end_ns: int
    descriptor: int | None
    file: str | None
    offset: int | None
    bytes: int
    result: int
    error: str | None
    detail: int | None


@dataclass(frozen=True, eq=False)
class Use:
    """A descriptor while it is open on one file; compared by identity. Without descriptors, as in a Darshan log: a file of a
    process."""

    log: int
    number: int  # unique
    descriptor: int | None
    file: str | None
    paradigm: str
    inherited: bool = False  # open when the recording began
    copied: Use | None = None  # the use that it duplicates


class Uses:
    """The open descriptors, kept from one part of a run to the next."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, object], Use] = {}
        self.numbers = itertools.count(1)

    def of(self, rows: Sequence[Row]) -> list[Use | None]:
        """The use of each call; None for a call without a descriptor."""
        uses: list[Use | None] = [None] * len(rows)
        for at in sorted(range(len(rows)), key=lambda at: (rows[at].log, rows[at].begin_ns)):
            uses[at] = self._use(rows[at])
        return uses

    def _use(self, row: Row) -> Use | None:
        if row.group not in USERS:
            return None
        key = (row.log, row.file if row.descriptor is None else row.descriptor)
        if key[1] is None or (row.group == "open" and row.result < 0):
            return None
        if row.call in COPIES:
            source = self.known.get(key) or self._begin(row, key, inherited=True)
            return self._begin(row, (row.log, row.result), copied=source)
        if row.group == "open":
            return self._begin(row, key)
        if row.group == "close" and row.result >= 0:
            return self.known.pop(key, None)
        return self.known.get(key) or self._begin(row, key, inherited=True)

    def _begin(self, row: Row, key: tuple[int, object], inherited: bool = False, copied: Use | None = None) -> Use:
        paradigm = STREAMS if row.call == "fopen" or row.group.startswith("stdio") else POSIX
        descriptor = None if row.descriptor is None else row.result if copied else row.descriptor
        use = Use(row.log, next(self.numbers), descriptor, row.file, paradigm, inherited, copied)
        self.known[key] = use
        return use
