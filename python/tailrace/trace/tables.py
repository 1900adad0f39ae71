"""A log as the tables of schema.py, made column by column."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.trace.clock import Clock, clock_of
from tailrace.trace.log import COUNTS, NO_OFFSET, Log
from tailrace.trace.merged import histogram_text
from tailrace.trace.renamed import Renamed
from tailrace.trace.schema import COUNTERS, EVENTS, MERGED, TEXTS, Tables, empty, table_of

LIBRARIES = ("collective", "mpi", "hdf5", "netcdf", "pnetcdf")  # beginnings of the groups of their calls
NONE = -1  # no descriptor, or no rank
Values = np.ndarray[Any, np.dtype[Any]]


def tables_of(log: Log, number: int = 0, clock: Clock | None = None) -> Tables:
    """`number` is the log's row in `processes`. Without a clock, times begin with the log."""
    clock = clock or clock_of([log.header])
    renamed = Renamed(log)
    return empty(
        processes=_processes(log, number, clock),
        events=_events(log, number, clock, renamed),
        merged=_merged(log, number, clock, renamed),
        counters=_counters(log, number, clock, renamed),
    )


def _processes(log: Log, number: int, clock: Clock) -> pa.Table:
    header = log.header
    host, begin_ns = header["host"], header["begin_ns"]
    begin, end = clock.since_begin(host, np.array([begin_ns, header["end_ns"]], np.uint64)).tolist()
    row = {
        "log": number,
        "host": host,
        "process": header["process"],
        "rank": _or_none(header["rank"]),
        "parent": header["parent"],
        "ranks": _or_none(header["ranks"]),
        "program": header["program"],
        "command": header["command"].strip(),
        "begin_ns": begin,
        "end_ns": end if log.ended else None,
        "begin_real_ns": _wrapped(clock.zero_real_ns[host] + begin_ns),
        "events": len(log.events),
        "dropped_events": _wrapped(header["dropped_events"]),
        "counted_because": log.counted_because or None,
        "merged_calls": _wrapped(int(log.merged["calls"].sum())),
        **{f"kernel_{name}_at_begin": header["at_begin"][name] for name in COUNTS},
        **{f"kernel_{name}_at_end": header["at_end"][name] if log.ended else None for name in COUNTS},
    }
    return table_of("processes", [row])


def _events(log: Log, number: int, clock: Clock, renamed: Renamed) -> pa.Table:
    events, host = log.events, log.header["host"]
    is_name = np.isin(events["detail"], np.fromiter(log.names, np.uint64, len(log.names)))
    columns = {
        **_origin(log, number, len(events)),
        "thread": pa.array(log.threads),
        "program": _constant(log.header["program"], len(events)),
        **_call_names(log, events["call"]),
        "begin_ns": pa.array(clock.since_begin(host, events["begin_ns"])),
        "end_ns": pa.array(clock.since_begin(host, events["end_ns"])),
        "descriptor": _column(events["descriptor"], events["descriptor"] == NONE),
        "file": _file_names(log, renamed.final(events["file"], events["begin_ns"])),
        "other_name": _file_names(log, np.where(is_name, events["detail"], 0)),
        "offset": _column(events["offset"], events["offset"] == NO_OFFSET),
        "bytes": _column(events["bytes"]),
        "result": _column(events["result"]),
        "error": _texts(np.where(_of_library(log, events["call"]), 0, np.minimum(events["result"], 0)), _error),
        "flags": _column(events["flags"]),
        "detail": _column(events["detail"], is_name),
    }
    return pa.table(columns, schema=EVENTS)


def _merged(log: Log, number: int, clock: Clock, renamed: Renamed) -> pa.Table:
    records, host = log.merged, log.header["host"]
    is_name = np.isin(records["detail"], np.fromiter(log.names, np.uint64, len(log.names)))
    sums = ("calls", "bytes", "moved", "busy_ns", "least_size", "most_size", "least_ns", "most_ns")
    columns = {
        **_origin(log, number, len(records)),
        "thread": pa.array(records["thread"]),
        "program": _constant(log.header["program"], len(records)),
        **_call_names(log, records["call"]),
        "begin_ns": pa.array(clock.since_begin(host, records["begin_ns"])),
        "last_ns": pa.array(clock.since_begin(host, records["last_ns"])),
        "file": _file_names(log, renamed.final(records["file"], records["begin_ns"])),
        "other_name": _file_names(log, np.where(is_name, records["detail"], 0)),
        "error": _texts(np.where(_of_library(log, records["call"]), 0, np.minimum(records["error"], 0)), _error),
        "flags": _column(records["flags"]),
        "detail": _column(records["detail"], is_name),
        **{name: _column(records[name]) for name in sums},
        "sizes": _histograms(records["size_bins"]),
        "times": _histograms(records["time_bins"]),
    }
    return pa.table(columns, schema=MERGED)


def _histograms(bins: Values) -> pa.DictionaryArray:
    return pa.array([histogram_text(row) for row in bins.tolist()], pa.string()).dictionary_encode().cast(TEXTS)


def _call_names(log: Log, numbers: Values) -> dict[str, pa.DictionaryArray]:
    """The columns `call` and `group`; null for a number that is no call's."""
    names = {number: call.name for number, call in log.calls.items()}
    groups = {number: call.group for number, call in log.calls.items()}
    return {"call": _texts(numbers, names.get), "group": _texts(numbers, groups.get)}


def _of_library(log: Log, numbers: Values) -> Values:
    """Whether the result of each call is a library's: then it is no errno."""
    libraries = [number for number, call in log.calls.items() if call.group.startswith(LIBRARIES)]
    return np.isin(numbers, libraries)


def _counters(log: Log, number: int, clock: Clock, renamed: Renamed) -> pa.Table:
    counters, host = log.counters, log.header["host"]
    sums = ("calls", "reads", "writes", "bytes_read", "bytes_written", "failed", "busy_ns")
    columns = {
        **_origin(log, number, len(counters)),
        "interface": _constant("all", len(counters)),
        "file": _file_names(log, renamed.final(counters["file"], counters["first_ns"])),
        **_call_names(log, counters["counted_call"]),
        **{name: _column(counters[name]) for name in sums},
        "first_ns": pa.array(clock.since_begin(host, counters["first_ns"])),
        "last_ns": pa.array(clock.since_begin(host, counters["last_ns"])),
    }
    return pa.table(columns, schema=COUNTERS)


def _origin(log: Log, number: int, rows: int) -> dict[str, pa.Array]:
    header = log.header
    numbers = {"log": number, "process": header["process"], "rank": _or_none(header["rank"])}
    return {
        "host": _constant(header["host"], rows),
        **{name: pa.repeat(pa.scalar(value, pa.int32()), rows) for name, value in numbers.items()},
    }


def _constant(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [text])


def _texts(values: Values, text_of: Callable[[int], str | None]) -> pa.DictionaryArray:
    """Makes the text of each distinct value once."""
    different, places = np.unique(values, return_inverse=True)
    texts = pa.array([text_of(value) for value in different.tolist()], pa.string()).dictionary_encode()
    return texts.take(pa.array(places)).cast(TEXTS)


def _file_names(log: Log, files: Values) -> pa.DictionaryArray:
    return _texts(files, lambda file: log.name_of(file) if file else None)


def _column(values: Values, is_null: Values | None = None) -> pa.Array:
    """A field of records as a contiguous column."""
    return pa.array(np.ascontiguousarray(values), mask=is_null)


def _error(result: int) -> str | None:
    return errno.errorcode.get(-result, f"errno {-result}") if result else None


def _or_none(number: int) -> int | None:
    return None if number == NONE else number


def _wrapped(number: int) -> int:
    """Brings a damaged number into the range of its column."""
    return (number + 2**63) % 2**64 - 2**63
