"""The tables of a run: the only declaration of their columns, types and units. Each input is read into these tables, and each
output is made from them (docs/trace-tables.md)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pyarrow as pa

from tailrace.trace.log import COUNTS

Tables = dict[str, pa.Table]  # by the names of TABLES: whole tables, or a part of their rows

# Few distinct texts in many rows: each text is stored once, and each row has a number.
TEXTS = pa.dictionary(pa.int32(), pa.string())


def _column(name: str, kind: pa.DataType, unit: str, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})


ORIGIN = (
    _column("log", pa.int32(), "", "number of the log: its row in `processes`"),
    _column("host", TEXTS, "", "name of the node"),
    _column("process", pa.int32(), "", "number of the process on its host"),
    _column("rank", pa.int32(), "", "rank in MPI or Slurm; null: none"),
)
EVENTS = pa.schema(
    [
        *ORIGIN,
        _column("thread", pa.uint32(), "", "number of the thread on its host"),
        _column("program", TEXTS, "", "file of the program"),
        _column("call", TEXTS, "", "name of the call"),
        _column("group", TEXTS, "", "kind of call: read, write, stdio_read, stdio_write, open, meta ..."),
        _column("begin_ns", pa.int64(), "ns", "since the run's beginning"),
        _column("end_ns", pa.int64(), "ns", "since the run's beginning"),
        _column("descriptor", pa.int32(), "", "file descriptor; null: none"),
        _column(
            "file",
            TEXTS,
            "",
            "full name of the file, after later renames by the same process; ?: unknown; null: the call has no file",
        ),
        _column("other_name", TEXTS, "", "new name of a renamed file, source of a copy, variable of a file, place of an MPI call"),
        _column("offset", pa.int64(), "bytes", "position in the file, or its new size; null: the call has none"),
        _column("bytes", pa.uint64(), "bytes", "requested bytes"),
        _column(
            "result",
            pa.int64(),
            "",
            "result: bytes moved, a descriptor, 0; minus errno where it failed, or minus the error number of a library",
        ),
        _column("error", TEXTS, "", "name of the error, such as ENOENT; null: no error, or an error of a library"),
        _column(
            "flags", pa.uint16(), "", "1, 2, 4, 8: made within MPI, HDF5, netCDF, PnetCDF; 256: barrier inserted by the tracer"
        ),
        _column("detail", pa.uint64(), "", "flags of open, whence of a seek; null where `other_name` has it"),
    ]
)
PROCESSES = pa.schema(
    [
        *ORIGIN,
        _column("parent", pa.int32(), "", "number of the parent process"),
        _column("ranks", pa.int32(), "", "number of ranks; null: not known"),
        _column("program", TEXTS, "", "file of the program"),
        _column("command", pa.string(), "", "command line, words joined by spaces"),
        _column("begin_ns", pa.int64(), "ns", "since the run's beginning"),
        _column(
            "end_ns", pa.int64(), "ns", "since the run's beginning; null: killed, or replaced by a program without the C library"
        ),
        _column("begin_real_ns", pa.int64(), "ns", "time of day of the beginning, since 1970 (UTC)"),
        _column("events", pa.int64(), "", "number of its calls in `events`"),
        _column("dropped_events", pa.int64(), "", "number of its calls that are only counted, in `counters`"),
        _column("counted_because", pa.string(), "", "why calls are only counted; null: none are"),
        _column("merged_calls", pa.int64(), "", "number of its calls in `merged`"),
        *(
            _column(
                f"kernel_{name}_at_{when}",
                pa.uint64(),
                "bytes" if name.endswith("bytes") else "",
                f"the kernel's count of the process at its {'beginning' if when == 'begin' else 'end'}",
            )
            for when in ("begin", "end")
            for name in COUNTS
        ),
    ]
)
MERGED = pa.schema(
    [
        *ORIGIN,
        *(EVENTS.field(name) for name in ("thread", "program", "call", "group")),
        _column("begin_ns", pa.int64(), "ns", "beginning of the first call, since the run's beginning"),
        _column("last_ns", pa.int64(), "ns", "end of the last call, since the run's beginning"),
        *(EVENTS.field(name) for name in ("file", "other_name", "error", "flags", "detail")),
        _column("calls", pa.uint64(), "", "number of calls"),
        _column("bytes", pa.uint64(), "bytes", "requested bytes, summed"),
        _column("moved", pa.int64(), "", "results of more than 0, summed: bytes that reads and writes have moved"),
        _column("busy_ns", pa.uint64(), "ns", "time in the calls"),
        _column("least_size", pa.uint64(), "bytes", "of a call: bytes that it moved; requested bytes where it moves none"),
        _column("most_size", pa.uint64(), "bytes", ""),
        _column("least_ns", pa.uint32(), "ns", "of a call"),
        _column("most_ns", pa.uint32(), "ns", "of a call"),
        _column("sizes", TEXTS, "", "numbers of calls by size: 8:120 is 120 calls with a size from 8 to 15"),
        _column("times", TEXTS, "", "numbers of calls by time in ns: 512:7 is 7 calls that took from 512 to 1023"),
    ]
)
COUNTERS = pa.schema(
    [
        *ORIGIN,
        _column("interface", TEXTS, "", "interface whose calls are counted: POSIX, STDIO, MPI-IO; all: all together"),
        _column("file", TEXTS, "", "full name, after later renames by the same process"),
        _column("call", TEXTS, "", "name of the counted call; null: all calls together"),
        _column("group", TEXTS, "", "its kind; null: calls of several kinds"),
        _column("calls", pa.uint64(), "", "number of calls, also of those that transfer no bytes"),
        _column("reads", pa.uint64(), "", "calls that read"),
        _column("writes", pa.uint64(), "", "calls that write"),
        _column("bytes_read", pa.uint64(), "bytes", ""),
        _column("bytes_written", pa.uint64(), "bytes", ""),
        _column("failed", pa.uint64(), "", "calls that failed; null: not known"),
        _column("busy_ns", pa.uint64(), "ns", "time in the calls"),
        _column("first_ns", pa.int64(), "ns", "beginning of the first call, since the run's beginning"),
        _column("last_ns", pa.int64(), "ns", "end of the last call, since the run's beginning"),
    ]
)
RESULTS = pa.schema(
    [
        _column("benchmark", TEXTS, "", "name, such as IOR"),
        _column("interface", TEXTS, "", "measured interface, such as POSIX or MPIIO"),
        _column("file", TEXTS, "", "file that was written or read"),
        _column("tasks", pa.int32(), "", "number of processes"),
        _column("operation", TEXTS, "", "write or read"),
        _column("iteration", pa.int32(), "", "from 0"),
        _column("bandwidth_mib_s", pa.float64(), "MiB/s", ""),
        _column("iops", pa.float64(), "1/s", "operations a second"),
        _column("latency_s", pa.float64(), "s", "as the benchmark reports it"),
        _column("block_bytes", pa.int64(), "bytes", "size of a block: of one task in one segment"),
        _column("transfer_bytes", pa.int64(), "bytes", "size of a transfer: of one call"),
        _column("open_s", pa.float64(), "s", ""),
        _column("move_s", pa.float64(), "s", "writing or reading"),
        _column("close_s", pa.float64(), "s", ""),
        _column("total_s", pa.float64(), "s", ""),
    ]
)
TABLES: Mapping[str, pa.Schema] = {
    "events": EVENTS,
    "merged": MERGED,
    "processes": PROCESSES,
    "counters": COUNTERS,
    "results": RESULTS,
}

# Groups of calls that move bytes of files. Calls of other groups make these calls, so summing both would count bytes twice.
READS = ("read", "stdio_read")
WRITES = ("write", "stdio_write")


def empty(**tables: pa.Table) -> Tables:
    """All tables: the given ones, and the others without rows."""
    return {**_without_rows(), **tables}


@functools.cache
def _without_rows() -> Tables:
    """Made once, because it takes 2 ms, but not at the import: the first table reserves 1 GiB of addresses, which is all that the
    process has that reads logs of Darshan."""
    return {name: schema.empty_table() for name, schema in TABLES.items()}


def table_of(name: str, rows: list[dict[str, object]]) -> pa.Table:
    """A table of few rows. Columns that a row does not have are null."""
    return pa.Table.from_pylist(rows, schema=TABLES[name])


def joined(parts: list[Tables]) -> Tables:
    """Joins parts. Texts get common numbers."""
    return {
        name: pa.concat_tables([without_rows, *(part[name] for part in parts)]).unify_dictionaries()
        for name, without_rows in _without_rows().items()
    }
