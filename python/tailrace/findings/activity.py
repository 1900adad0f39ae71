"""The calls of a run as columns: what findings are computed from. All times are seconds since the run began."""

from __future__ import annotations

import errno
import math
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.trace.ranks import NO_IO, WITHIN, is_no_file
from tailrace.trace.schema import Tables
from tailrace.trace.system_files import is_user_data

Array = np.ndarray[Any, np.dtype[Any]]
NONE = -1  # no file, no offset, no rank
SOFTWARE = ("/usr/", "/lib", "/opt/", "/bin/", "/sbin/")
CREATES = 0o100  # O_CREAT of open
# Columns of numbers that are taken as they are.
NUMBERS = {"thread": np.int64, "offset": np.int64, "result": np.int64, "flags": np.uint16, "detail": np.uint64}
COLUMNS = (*NUMBERS, "count", "call", "group", "file", "process", "begin", "end")


@dataclass(frozen=True)
class Process:
    host: str
    process: int
    parent: int
    rank: int  # or NONE
    program: str
    begin: float
    end: float
    merges_from: float = math.inf  # when its first collective began that is merged with others: later ones are not all in rows


@dataclass
class Texts:
    """Distinct texts with numbers. NONE is the number of no text."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        found = self.numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found

    def column(self, column: pa.ChunkedArray) -> Array:
        """The number of each text of a column."""
        parts = [self._part(chunk) for chunk in column.chunks]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _part(self, chunk: pa.Array) -> Array:
        encoded = chunk if isinstance(chunk, pa.DictionaryArray) else chunk.dictionary_encode()
        of_chunk = [NONE if text is None else self.number(text) for text in encoded.dictionary.to_pylist()]
        indices = encoded.indices.fill_null(len(of_chunk)).to_numpy(zero_copy_only=False)
        return np.asarray([*of_chunk, NONE], np.int32)[indices]


@dataclass(frozen=True)
class Names:
    """Texts of the numbers in the columns of an activity."""

    calls: list[str]
    groups: list[str]
    files: list[str]


@dataclass
class Activity:
    """One row for each call, process by process, in the order of their beginnings. Like calls that the log has merged are one row,
    which begins with the first of them and has the time of all."""

    processes: list[Process]
    names: Names
    process: Array  # index into `processes`
    thread: Array
    call: Array
    group: Array
    begin: Array
    end: Array
    file: Array  # index into `names.files`, or NONE
    offset: Array  # or NONE
    result: Array  # of a row of merged calls: bytes that all of them moved
    flags: Array
    detail: Array
    count: Array  # calls of the row: 1, or more where like calls are merged
    counted_calls: int  # calls that are only counted: they are in no row

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
        """The index of the process of each rank. Where a rank was several programs, that with most calls."""
        calls = np.bincount(self.process, self.count, minlength=len(self.processes))
        best: dict[int, int] = {}
        for index, process in enumerate(self.processes):
            if process.rank != NONE and (process.rank not in best or calls[index] > calls[best[process.rank]]):
                best[process.rank] = index
        return [best[rank] for rank in sorted(best)]

    def is_call(self, *names: str, merged: bool = False) -> Array:
        """Rows of these calls; with `merged` also those of several calls."""
        found = np.isin(self.call, [k for k, name in enumerate(self.names.calls) if name in names])
        return found if merged else found & (self.count == 1)

    def in_group(self, *groups: str, merged: bool = False) -> Array:
        found = np.isin(self.group, [k for k, name in enumerate(self.names.groups) if name in groups])
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
        values = np.array([*map(holds, self.names.files), False], bool)
        return np.asarray(values[self.file])

    @cached_property
    def directory_names(self) -> list[str]:
        return self._directories[0]

    @cached_property
    def directory(self) -> Array:
        """Of the file of each call: index into `directory_names`, or NONE."""
        return np.asarray(self._directories[1][self.file])

    @cached_property
    def _directories(self) -> tuple[list[str], Array]:
        texts = Texts()
        numbers = [texts.number(posixpath.dirname(name)) for name in self.names.files]
        return texts.texts, np.array([*numbers, NONE], np.int32)

    @cached_property
    def is_create(self) -> Array:
        """Successful calls that may have made their file: the first that opened it and may make files."""
        opens = self.in_group("open") & (self.result >= 0) & (self.file != NONE) & self.of_user_data
        makes = opens & (self.is_call("mkstemp") | (self.is_call("open") & (self.detail.astype(np.int64) & CREATES != 0)))
        written = np.zeros(len(self.names.files) + 1, bool)
        written[self.file[self.in_group("write", "stdio_write")]] = True
        makes |= opens & self.is_call("fopen") & written[self.file]
        chosen = np.flatnonzero(makes)
        chosen = chosen[np.argsort(self.begin[chosen], kind="stable")]
        _, first = np.unique(self.file[chosen], return_index=True)
        is_first = np.zeros(len(self.begin), bool)
        is_first[chosen[first]] = True
        return is_first


def is_software(name: str) -> bool:
    return (
        name.startswith(SOFTWARE)
        or name.endswith((".py", ".pyc", ".so"))
        or ".so." in posixpath.basename(name)
        or "/site-packages/" in name
    )


def activity_of(parts: Iterable[Tables]) -> Activity:
    """From the tables of a run (trace/schema.py), part by part."""
    calls, groups, files = Texts(), Texts(), Texts()
    processes: list[Process] = []
    columns: dict[str, list[Array]] = {name: [] for name in COLUMNS}
    index_of: dict[int, int] = {}  # by the number of the log
    merges_from: dict[int, float] = {}  # by the number of the log
    counted = 0
    for part in parts:
        for row in part["processes"].to_pylist():
            index_of[row["log"]] = len(processes)
            processes.append(_process(row))
        counted += sum(part["counters"]["calls"].to_pylist())
        for rows in (part["events"], _as_events(part["merged"])):
            columns["call"].append(calls.column(rows["call"]))
            columns["group"].append(groups.column(rows["group"]))
            columns["file"].append(files.column(rows["file"]))
            columns["process"].append(_numbers(rows["log"], np.int32))
            columns["begin"].append(_numbers(rows["begin_ns"], np.int64) / 1e9)
            columns["end"].append(_numbers(rows["end_ns"], np.int64) / 1e9)
            for name, kind in NUMBERS.items():
                columns[name].append(_numbers(rows[name], kind, NONE if name == "offset" else 0))
            has_counts = "calls" in rows.column_names
            columns["count"].append(_numbers(rows["calls"], np.int64) if has_counts else np.ones(len(rows), np.int64))
        _note_merging(part["merged"], merges_from)
    joined = {name: np.concatenate(values) if values else np.empty(0) for name, values in columns.items()}
    logs, places = np.unique(joined["process"], return_inverse=True)
    joined["process"] = np.array([index_of[log] for log in logs.tolist()], np.int32)[places]
    order = np.lexsort((joined["begin"], joined["process"]))
    last_ends = np.zeros(len(processes))
    np.maximum.at(last_ends, joined["process"].astype(np.int64), joined["end"])
    processes = [_ended(process, float(last_ends[index])) for index, process in enumerate(processes)]
    for log, moment in merges_from.items():
        processes[index_of[log]] = replace(processes[index_of[log]], merges_from=moment)
    return Activity(
        processes, Names(calls.texts, groups.texts, files.texts), **{k: v[order] for k, v in joined.items()}, counted_calls=counted
    )


def _as_events(merged: pa.Table) -> pa.Table:
    """Records of merged calls as rows of events, which end when all their calls would if they came one after the other."""
    failed = [-getattr(errno, error or "", 0) for error in merged["error"].to_pylist()]
    moved = np.maximum(_numbers(merged["moved"], np.int64), 0)
    ends = _numbers(merged["begin_ns"], np.int64) + _numbers(merged["busy_ns"], np.int64)
    columns = {name: merged[name] for name in ("log", "thread", "call", "group", "begin_ns", "file", "flags", "detail", "calls")}
    columns |= {"end_ns": pa.chunked_array([ends]), "offset": pa.chunked_array([np.full(len(ends), NONE)])}
    return pa.table(columns | {"result": pa.chunked_array([moved + np.array(failed, np.int64)])})


def _note_merging(merged: pa.Table, merges_from: dict[int, float]) -> None:
    rows = merged.filter(pc.equal(merged["group"].cast(pa.string()), "collective")).select(["log", "begin_ns"])
    for row in rows.to_pylist():
        merges_from[row["log"]] = min(merges_from.get(row["log"], math.inf), row["begin_ns"] / 1e9)


def _process(row: dict[str, Any]) -> Process:
    rank = NONE if row["rank"] is None else row["rank"]
    end = math.nan if row["end_ns"] is None else row["end_ns"] / 1e9
    return Process(
        row["host"] or "", row["process"], row["parent"] or 0, rank, row["program"] or "", (row["begin_ns"] or 0) / 1e9, end
    )


def _ended(process: Process, last: float) -> Process:
    """A killed process ends with its last call."""
    return replace(process, end=last) if math.isnan(process.end) else process


def _numbers(column: pa.ChunkedArray, kind: Any, null: int = 0) -> Array:
    return np.asarray(column.fill_null(null).to_numpy(), kind)


def files_of(activity: Activity, calls: Array, most: int) -> Sequence[str]:
    """The names of the files on which most of these calls were made."""
    files = activity.file[calls]
    known = files[files != NONE]
    if len(known) == 0:
        return []
    counts = np.bincount(known)
    chosen = np.argsort(-counts, kind="stable")[:most]
    return [activity.names.files[k] for k in chosen.tolist() if counts[k] > 0]


def files_text(activity: Activity, calls: Array) -> str:
    """For sentences: the two files on which most of these calls were made."""
    return ", ".join(files_of(activity, calls, 2))


def busiest_directory(activity: Activity, calls: Array) -> tuple[str, int]:
    """The directory in which most of these calls were made, and how many they were. The calls must have files."""
    directory = activity.directory[calls]
    counts = np.bincount(directory, activity.count[calls])
    most = int(counts.argmax())
    return activity.directory_names[most], int(counts[most])
