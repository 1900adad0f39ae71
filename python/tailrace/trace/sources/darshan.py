"""A log of Darshan, read by Darshan's own library: counters of files, and with extended tracing (DXT) each read and write."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.child_python import end_with_parent
from tailrace.trace.log import LogError
from tailrace.trace.optional import MissingLibraryError, import_optional
from tailrace.trace.schema import EVENTS, Tables, empty, joined, table_of
from tailrace.trace.source_figures import SourceFigures
from tailrace.trace.sources.darshan_figures import NO_HOSTS, NO_SEGMENTS, UNKNOWN, orders_of, sizes_of, sums_of
from tailrace.trace.table_parts import TableParts

DESCRIPTION = "a Darshan log (*.darshan)"
MOST_RANKS = 1 << 22
BACKEND = "darshan.backend.cffi_backend"

DAMAGE = (
    BrokenProcessPool,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)

# For each module of Darshan: the counters of a file that count calls of a kind.
READS = {
    "POSIX": ("POSIX_READS",),
    "STDIO": ("STDIO_READS",),
    "MPI-IO": ("MPIIO_INDEP_READS", "MPIIO_COLL_READS", "MPIIO_SPLIT_READS", "MPIIO_NB_READS"),
}
WRITES = {name: tuple(counter.replace("READS", "WRITES") for counter in counters) for name, counters in READS.items()}
OTHERS = {
    "POSIX": ("POSIX_OPENS", "POSIX_SEEKS", "POSIX_STATS", "POSIX_MMAPS", "POSIX_FSYNCS", "POSIX_FDSYNCS"),
    "STDIO": ("STDIO_OPENS", "STDIO_SEEKS", "STDIO_FLUSHES"),
    "MPI-IO": ("MPIIO_INDEP_OPENS", "MPIIO_COLL_OPENS", "MPIIO_SYNCS"),
}
# For each module of DXT: the call and the group of its segments of reads and writes.
SEGMENTS = {
    "DXT_POSIX": {"read": ("read", "read"), "write": ("write", "write")},
    "DXT_MPIIO": {"read": ("MPI_File_read", "mpiio"), "write": ("MPI_File_write", "mpiio")},
}


def accepts(path: Path) -> bool:
    return path.is_file() and path.suffix == ".darshan"


def read(path: Path) -> TableParts:
    """Raises LogError, MissingLibraryError. Times begin with the job, as far as the clocks of its ranks agree.

    RATIONALE: reads in a child process. For a log that is cut short, Darshan's library ends its process, or prints an error and
    returns memory that it has not filled. The child has limits, because a few bytes can stand for any number of records, and ends
    with this process."""
    limits = Limits(os.getpid(), path.stat().st_size)
    with tempfile.NamedTemporaryFile() as stderr:
        try:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin_reader, (stderr.name, limits)) as reader:
                tables, figures = reader.submit(_tables, path).result()
        except MissingLibraryError:
            raise
        except DAMAGE as error:
            raise _damaged(path, _errors(stderr) or str(error)) from None
        if errors := _errors(stderr):
            raise _damaged(path, errors)
    return TableParts(iter([tables]), 1, figures=figures)


class Limits(NamedTuple):
    parent: int
    size_bytes: int  # of the log

    @property
    def memory_bytes(self) -> int:
        return (1 << 30) + 100 * self.size_bytes

    @property
    def processor_s(self) -> int:
        return 60 + (self.size_bytes >> 20)


def _begin_reader(name: str, limits: Limits) -> None:
    """Of the child, before it reads."""
    end_with_parent(limits.parent)
    for what, most in ((resource.RLIMIT_DATA, limits.memory_bytes), (resource.RLIMIT_CPU, limits.processor_s)):
        with contextlib.suppress(ValueError, OSError):  # less is allowed already
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))
    with Path(name).open("wb") as file:
        os.dup2(file.fileno(), 2)


def _damaged(path: Path, why: str) -> LogError:
    return LogError(f"{path}: no log of Darshan, or a damaged one ({why}); darshan-parser reports more")


def _errors(stderr: IO[bytes]) -> str:
    """The errors that Darshan's library printed. It reports damage in no other way."""
    stderr.seek(0)
    lines = stderr.read().decode(errors="replace").splitlines()
    return ", ".join(line.removeprefix("Error: ").rstrip(".") for line in lines if line.startswith("Error: "))


def _tables(path: Path) -> tuple[Tables, SourceFigures]:
    backend = import_optional(BACKEND)
    log = backend.log_open(str(path))
    if log["handle"] == backend.ffi.NULL:
        raise ValueError("no valid header")
    job, names, modules = backend.log_get_job(log), backend.log_get_name_records(log), backend.log_get_modules(log)
    segments = [
        _segments(record, module, names) for module in SEGMENTS if module in modules for record in _records(backend, log, module)
    ]
    records = [(module, record) for module in READS if module in modules for record in _records(backend, log, module)]
    counters = [_counters(record, module, names) for module, record in records]
    events = joined([empty(events=table) for table in segments])["events"]
    tables = empty(
        events=events.sort_by([("log", "ascending"), ("begin_ns", "ascending")]),
        counters=table_of("counters", counters),
        processes=_processes(job, backend.log_get_exe(log), events),
    )
    return tables, _figures(records, names, modules, backend.log_get_mounts(log), len(events))


def _figures(
    records: list[tuple[str, dict[str, Any]]], names: dict[int, str], modules: dict[str, Any], mounts: Any, segments: int
) -> SourceFigures:
    def rows(make: Callable[..., Iterator[dict[str, Any]]]) -> list[dict[str, Any]]:
        return [row for module, record in records for row in make(record, module, names.get(record["id"], "?"))]

    partial = [
        f"{name}: Darshan had no memory for all files or segments" for name, about in modules.items() if about["partial_flag"]
    ]
    left_out = sorted(set(modules) - set(READS) - set(SEGMENTS))
    missing = {"other modules": f"{', '.join(left_out)}: not read"} if left_out else {}
    unknown = {**UNKNOWN, **({} if segments else {**NO_SEGMENTS, **NO_HOSTS}), **missing}
    return SourceFigures(rows(sums_of), rows(sizes_of), rows(orders_of), [tuple(mount) for mount in mounts], partial, unknown)


def _records(backend: Any, log: Any, module: str) -> Iterator[dict[str, Any]]:
    dxt = module in SEGMENTS
    while True:
        record = backend.log_get_record(log, module, dtype="pandas" if dxt else "dict")
        if record is None:
            return
        yield record


def _processes(job: dict[str, Any], command: str, events: pa.Table) -> pa.Table:
    """A row for each rank. The host is known only for ranks that DXT has traced."""
    if not 0 <= job["nprocs"] <= MOST_RANKS:
        raise ValueError(f"{job['nprocs']} ranks")
    hosts = dict(zip(events["log"].to_pylist(), events["host"].to_pylist(), strict=True))
    counts = np.bincount(events["log"].to_numpy(), minlength=job["nprocs"]).tolist()
    about = {
        "ranks": job["nprocs"],
        "program": command.partition(" ")[0],
        "command": command.strip(),
        "begin_ns": 0,
        "end_ns": _ns(job["run_time"]),
        "begin_real_ns": job["start_time_sec"] * 10**9 + job["start_time_nsec"],
        "dropped_events": 0,
    }
    rows = [{**about, "log": rank, "rank": rank, "host": hosts.get(rank), "events": counts[rank]} for rank in range(job["nprocs"])]
    return table_of("processes", rows)


def _segments(record: dict[str, Any], module: str, names: dict[int, str]) -> pa.Table:
    tables = [
        _calls(record[f"{direction}_segments"], record, call, group, names)
        for direction, (call, group) in SEGMENTS[module].items()
        if record[f"{direction}_count"]
    ]
    return pa.concat_tables([EVENTS.empty_table(), *tables])


def _calls(segments: Any, record: dict[str, Any], call: str, group: str, names: dict[int, str]) -> pa.Table:
    """The reads or writes of a rank in a file; `segments` is a data frame."""
    rows = len(segments)
    rank = pa.repeat(pa.scalar(record["rank"], pa.int32()), rows)
    begin, end = ((segments[key].to_numpy() * 1e9).astype(np.int64) for key in ("start_time", "end_time"))
    known = {
        "log": rank,
        "rank": rank,
        "begin_ns": begin,
        "end_ns": end,
        "offset": segments["offset"].to_numpy(),
        "bytes": segments["length"].to_numpy().astype(np.uint64),
        "result": segments["length"].to_numpy(),
    }
    texts = {"host": record["hostname"], "call": call, "group": group, "file": names.get(record["id"], "?")}
    same = {name: pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [text]) for name, text in texts.items()}
    columns = {**known, **same}
    return pa.table(
        [columns.get(field.name, pa.nulls(rows, field.type)) for field in EVENTS],
        schema=EVENTS,
    )


def _counters(record: dict[str, Any], module: str, names: dict[int, str]) -> dict[str, object]:
    """A row of `counters`. Darshan merges the records of a file that all ranks opened: these have no rank."""
    counts, times = record["counters"], record["fcounters"]
    prefix = module.replace("-", "")
    rank = None if record["rank"] < 0 else record["rank"]

    def count(*counters: str) -> int:
        return sum(max(0, int(counts.get(counter, 0))) for counter in counters)

    def time_ns(*counters: str) -> int:
        return sum(_ns(times[f"{prefix}_F_{counter}"]) for counter in counters)

    reads, writes = count(*READS[module]), count(*WRITES[module])
    return {
        "log": rank,
        "rank": rank,
        "interface": module,
        "file": names.get(record["id"], "?"),
        "calls": reads + writes + count(*OTHERS[module]),
        "reads": reads,
        "writes": writes,
        "bytes_read": count(f"{prefix}_BYTES_READ"),
        "bytes_written": count(f"{prefix}_BYTES_WRITTEN"),
        "busy_ns": time_ns("READ_TIME", "WRITE_TIME", "META_TIME"),
        "first_ns": time_ns("OPEN_START_TIMESTAMP"),
        "last_ns": time_ns("CLOSE_END_TIMESTAMP"),
    }


def _ns(seconds: float) -> int:
    """Darshan stores -1 for a time that it did not measure."""
    return max(0, round(float(seconds) * 1e9))
