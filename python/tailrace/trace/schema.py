"""The tables of a run: the one declaration of their columns, types and units. Every input is read into them, every output is
made of them (docs/trace-tables.md)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tailrace.trace.log import COUNTS

Tables = dict[str, pa.Table]  # by the names of TABLES; together, or a part of them

# Few values in many rows: a number for each row, and the texts once.
TEXTS = pa.dictionary(pa.int32(), pa.string())


def _column(name: str, kind: pa.DataType, unit: str, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})


WHO = (
    _column("log", pa.int32(), "", "row of `processes` that this belongs to"),
    _column("host", TEXTS, "", "name of the node"),
    _column("process", pa.int32(), "", "number of the process on its host"),
    _column("rank", pa.int32(), "", "of MPI or Slurm; null: none"),
)
EVENTS = pa.schema(
    [
        *WHO,
        _column("thread", pa.uint32(), "", "number of the thread on its host"),
        _column("program", TEXTS, "", "file of the program"),
        _column("call", TEXTS, "", "name of the call"),
        _column("group", TEXTS, "", "what kind of call it is: read, write, stdio_read, stdio_write, open, meta ..."),
        _column("begin_ns", pa.int64(), "ns", "since the run's beginning"),
        _column("end_ns", pa.int64(), "ns", "since the run's beginning"),
        _column("descriptor", pa.int32(), "", "of the file; null: none"),
        _column("file", TEXTS, "", "full name; ? where it is not known, null where the call has none"),
        _column("other_name", TEXTS, "", "new name of a renaming, source of a copy, variable of a file, place of an MPI call"),
        _column("offset", pa.int64(), "bytes", "where in the file, or its new size; null: the call does not say"),
        _column("bytes", pa.uint64(), "bytes", "asked for"),
        _column(
            "result",
            pa.int64(),
            "",
            "what it answered: bytes moved, a descriptor, 0; minus errno (of a library: its number) where it failed",
        ),
        _column("error", TEXTS, "", "name of the error, such as ENOENT; null: it did not fail, or a library's call did"),
        _column("flags", pa.uint16(), "", "1, 2, 4, 8: made within MPI, HDF5, netCDF, PnetCDF; 256: a barrier that was inserted"),
        _column("detail", pa.uint64(), "", "flags of an opening, whence of a seek; null where it is the other file"),
    ]
)
PROCESSES = pa.schema(
    [
        *WHO,
        _column("parent", pa.int32(), "", "number of its parent"),
        _column("ranks", pa.int32(), "", "how many there are; null: not known"),
        _column("program", TEXTS, "", "file of the program"),
        _column("command", pa.string(), "", "its words, joined by spaces"),
        _column("begin_ns", pa.int64(), "ns", "since the run's beginning"),
        _column("end_ns", pa.int64(), "ns", "since the run's beginning; null: it was killed, or replaced past the C library"),
        _column("begin_real_ns", pa.int64(), "ns", "the beginning, since 1970 (UTC)"),
        _column("events", pa.int64(), "", "how many of its calls are in `events`"),
        _column("dropped_events", pa.int64(), "", "how many were only counted, in `counters`"),
        *(
            _column(
                f"kernel_{name}_at_{when}",
                pa.uint64(),
                "bytes" if name.endswith("bytes") else "",
                f"what the kernel has counted of the process at its {'beginning' if when == 'begin' else 'end'}",
            )
            for when in ("begin", "end")
            for name in COUNTS
        ),
    ]
)
COUNTERS = pa.schema(
    [
        *WHO,
        _column("interface", TEXTS, "", "calls of which are counted: POSIX, STDIO, MPI-IO; all: of all together"),
        _column("file", TEXTS, "", "full name"),
        _column("calls", pa.uint64(), "", "all, also those that move nothing"),
        _column("reads", pa.uint64(), "", "calls that read"),
        _column("writes", pa.uint64(), "", "calls that write"),
        _column("bytes_read", pa.uint64(), "bytes", ""),
        _column("bytes_written", pa.uint64(), "bytes", ""),
        _column("failed", pa.uint64(), "", "calls that failed; null: not known"),
        _column("busy_ns", pa.uint64(), "ns", "spent in the calls"),
        _column("first_ns", pa.int64(), "ns", "beginning of the first, since the run's beginning"),
        _column("last_ns", pa.int64(), "ns", "end of the last, since the run's beginning"),
    ]
)
RESULTS = pa.schema(
    [
        _column("benchmark", TEXTS, "", "such as IOR"),
        _column("interface", TEXTS, "", "that it measured, such as POSIX or MPIIO"),
        _column("file", TEXTS, "", "that it wrote or read"),
        _column("tasks", pa.int32(), "", "processes that took part"),
        _column("operation", TEXTS, "", "write or read"),
        _column("iteration", pa.int32(), "", "from 0"),
        _column("bandwidth_mib_s", pa.float64(), "MiB/s", ""),
        _column("iops", pa.float64(), "1/s", "operations a second"),
        _column("latency_s", pa.float64(), "s", "as the benchmark says"),
        _column("block_bytes", pa.int64(), "bytes", "one task's, in one segment"),
        _column("transfer_bytes", pa.int64(), "bytes", "one call's"),
        _column("open_s", pa.float64(), "s", ""),
        _column("move_s", pa.float64(), "s", "writing or reading"),
        _column("close_s", pa.float64(), "s", ""),
        _column("total_s", pa.float64(), "s", ""),
    ]
)
TABLES: Mapping[str, pa.Schema] = {"events": EVENTS, "processes": PROCESSES, "counters": COUNTERS, "results": RESULTS}

# Groups of calls that move bytes of files. Other groups have their calls around these: counting both would count bytes twice.
READS = ("read", "stdio_read")
WRITES = ("write", "stdio_write")


def empty(**tables: pa.Table) -> Tables:
    """The tables that are given, and the others without rows."""
    return {name: tables.get(name, schema.empty_table()) for name, schema in TABLES.items()}


def table_of(name: str, rows: list[dict[str, object]]) -> pa.Table:
    """A table of few rows; what a row does not have is null."""
    return pa.Table.from_pylist(rows, schema=TABLES[name])


def joined(parts: list[Tables]) -> Tables:
    """Parts as one; texts get common numbers."""
    return {
        name: pa.concat_tables([schema.empty_table(), *(part[name] for part in parts)]).unify_dictionaries()
        for name, schema in TABLES.items()
    }
