"""The calls of a run as columns, from which findings and charts are computed. All times are seconds since the run began."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.trace.layers import CallName, place_of
from tailrace.trace.ranks import NO_IO, WITHIN, is_no_file
from tailrace.trace.system_files import is_user_data

Array = np.ndarray[Any, np.dtype[Any]]
NONE = -1  # no file, no offset, no rank
SOFTWARE = ("/usr/", "/lib", "/opt/", "/bin/", "/sbin/")
CREATES = 0o100  # O_CREAT of open
NO_CALL = CallName("", "", place_of("", ""))


@dataclass(frozen=True)
class Process:
    host: str
    process: int
    parent: int
    rank: int  # or NONE
    program: str
    begin: float
    end: float
    merges_from: float = math.inf  # beginning of its first merged collective: rows do not have all later ones


@dataclass(frozen=True)
class Recorded:
    """What the numbers in the columns stand for."""

    processes: list[Process]
    calls: Sequence[CallName]
    files: Sequence[str]
    counted_calls: int  # calls that are only counted: they are in no row


@dataclass
class Activity:
    """One row for each call, process by process, in the order of their beginnings. Similar calls that the log has merged are one
    row, which begins with the first of them and has the time of all."""

    recorded: Recorded
    process: Array  # index into `processes`
    thread: Array
    call: Array  # index into `calls`
    begin: Array
    end: Array
    self_s: Array  # seconds without those of calls within the call; of merged calls: all their seconds
    file: Array  # index into `files`, or NONE
    offset: Array  # the offset argument of the call in bytes, or NONE
    position: Array  # of a transfer: the byte of the file at which it began, also for calls without an offset; NONE: not known
    result: Array  # the returned value; of a row of merged calls: bytes that all of them moved
    moved: Array  # bytes moved; requested bytes if the call of a library does not return a number
    flags: Array
    detail: Array
    count: Array  # calls of the row: 1, or more where like calls are merged

    @property
    def processes(self) -> list[Process]:
        return self.recorded.processes

    @property
    def calls(self) -> Sequence[CallName]:
        return self.recorded.calls

    @property
    def files(self) -> Sequence[str]:
        return self.recorded.files

    @property
    def counted_calls(self) -> int:
        return self.recorded.counted_calls

    @cached_property
    def seconds(self) -> Array:
        return self.end - self.begin

    @property
    def duration_s(self) -> float:
        """From the beginning of the first process to the end of the last."""
        ends = [process.end for process in self.processes]
        return max(ends, default=0.0) - min((process.begin for process in self.processes), default=0.0)

    @cached_property
    def ranks(self) -> list[int]:
        """For each rank, the index of its process. If a rank ran several programs: the one with most calls."""
        calls = np.bincount(self.process, self.count, minlength=len(self.processes))
        best: dict[int, int] = {}
        for index, process in enumerate(self.processes):
            if process.rank != NONE and (process.rank not in best or calls[index] > calls[best[process.rank]]):
                best[process.rank] = index
        return [best[rank] for rank in sorted(best)]

    def rows_of(self, process: int) -> tuple[int, int]:
        """The first row of a process, and the row after its last."""
        return self._borders[process], self._borders[process + 1]

    @cached_property
    def _borders(self) -> list[int]:
        counts = np.bincount(self.process, minlength=len(self.processes))
        return [0, *np.cumsum(counts).tolist()]

    def of_call(self, value: Callable[[CallName], Any]) -> Array:
        """For each row, `value` of its call."""
        return np.array([value(call) for call in self.calls] or [value(NO_CALL)])[self.call]

    def is_call(self, *names: str, merged: bool = False) -> Array:
        """Rows of these calls; with `merged` also those of several calls."""
        found = self.of_call(lambda call: call.name in names)
        return found if merged else found & (self.count == 1)

    def in_group(self, *groups: str, merged: bool = False) -> Array:
        found = self.of_call(lambda call: call.group in groups)
        return found if merged else found & (self.count == 1)

    @cached_property
    def is_own(self) -> Array:
        """The program's own calls on files. Those within a call of a library are part of that call."""
        return ~self.in_group(*NO_IO, merged=True) & self.is_outermost & self.on_files

    @cached_property
    def on_files(self) -> Array:
        """Calls that are on no pipe, socket or device, and on none of the kernel's own files."""
        return ~self._by_file(is_no_file)

    @cached_property
    def is_outermost(self) -> Array:
        """Calls that no call of a library has made."""
        return self.flags & WITHIN == 0

    @cached_property
    def of_user_data(self) -> Array:
        """Calls on files that are likely to be data of the user, not of the system."""
        return self._by_file(lambda name: is_user_data(name) and not is_software(name))

    @cached_property
    def of_software(self) -> Array:
        """Calls on programs, libraries and Python's modules."""
        return self._by_file(is_software)

    def _by_file(self, holds: Any) -> Array:
        values = np.array([*map(holds, self.files), False], bool)
        return np.asarray(values[self.file])

    @cached_property
    def directory_names(self) -> list[str]:
        return self._directories[0]

    @cached_property
    def directory(self) -> Array:
        """For each call, the directory of its file: index into `directory_names`, or NONE."""
        return np.asarray(self._directories[1][self.file])

    @cached_property
    def _directories(self) -> tuple[list[str], Array]:
        names = [posixpath.dirname(name) for name in self.files]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return list(places), np.array([*(places[name] for name in names), NONE], np.int32)

    @cached_property
    def is_create(self) -> Array:
        """Calls that have probably created their file: the first successful call for the file that opened it and can create
        files."""
        opens = self.in_group("open") & (self.result >= 0) & (self.file != NONE) & self.of_user_data
        makes = opens & (self.is_call("mkstemp") | (self.is_call("open") & (self.detail.astype(np.int64) & CREATES != 0)))
        written = np.zeros(len(self.files) + 1, bool)
        written[self.file[self.in_group("write", "stdio_write")]] = True
        makes |= opens & self.is_call("fopen") & written[self.file]
        chosen = np.flatnonzero(makes)
        chosen = chosen[np.argsort(self.begin[chosen], kind="stable")]
        _, first = np.unique(self.file[chosen], return_index=True)
        is_first = np.zeros(len(self.begin), bool)
        is_first[chosen[first]] = True
        return is_first


def keys_of(*columns: Array) -> Array:
    """A number for each distinct combination of values, from 0, in the order of the values."""
    found = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        place, size = _numbered(column)
        found = _numbered(found * size + place)[0]
    return found


def _numbered(values: Array) -> tuple[Array, int]:
    """The position of each value among the distinct values in ascending order, and the number of distinct values."""
    if len(values) == 0:
        return np.zeros(0, np.int64), 0
    least, most = int(values.min()), int(values.max())
    if most - least > 4 * len(values):
        different, place = np.unique(values, return_inverse=True)
        return place, len(different)
    # Few numbers that lie close together need no sorting.
    at = values.astype(np.int64) - least if least > -(2**63) // 2 and most < 2**63 else (values - values.min()).astype(np.int64)
    is_there = np.zeros(most - least + 1, bool)
    is_there[at] = True
    places = np.cumsum(is_there) - 1
    return places[at], int(places[-1]) + 1


def is_software(name: str) -> bool:
    return (
        name.startswith(SOFTWARE)
        or name.endswith((".py", ".pyc", ".so"))
        or ".so." in posixpath.basename(name)
        or "/site-packages/" in name
    )
