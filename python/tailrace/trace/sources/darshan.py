"""A log of Darshan, read by its own library: counters of files, and each read and write where extended tracing (DXT) was on."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from tailrace.trace.log import LogError
from tailrace.trace.recording import MissingLibraryError, Recording, library
from tailrace.trace.schema import EVENTS, Tables, empty, joined, table_of

WHAT = "a Darshan log (*.darshan)"
BACKEND = "darshan.backend.cffi_backend"

# The counters of a file that are calls of a kind, by Darshan's module.
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
# Segments of a module of DXT: the names of calls that move bytes, and their group.
SEGMENTS = {
    "DXT_POSIX": {"read": ("read", "read"), "write": ("write", "write")},
    "DXT_MPIIO": {"read": ("MPI_File_read", "mpiio"), "write": ("MPI_File_write", "mpiio")},
}


def fits(path: Path) -> bool:
    return path.is_file() and path.suffix == ".darshan"


def read(path: Path) -> Recording:
    """Raises LogError, MissingLibraryError. Times begin with the job, as far as its ranks agree on that.

    In a process of its own: where a log is cut short Darshan's library ends its process, or says so on standard error alone and
    gives what happened to be in memory."""
    with tempfile.NamedTemporaryFile() as said:
        try:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _say_in, (said.name,)) as reader:
                tables = reader.submit(_tables, path).result()
        except MissingLibraryError:
            raise
        except (BrokenProcessPool, ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
            raise _damaged(path, _errors(said) or str(error)) from None
        if errors := _errors(said):
            raise _damaged(path, errors)
    return Recording(iter([tables]), 1)


def _say_in(name: str) -> None:
    with Path(name).open("wb") as file:
        os.dup2(file.fileno(), 2)


def _damaged(path: Path, why: str) -> LogError:
    return LogError(f"{path}: no log of Darshan, or a damaged one ({why}); darshan-parser says more")


def _errors(said: IO[bytes]) -> str:
    """What Darshan's library has said of errors."""
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    return ", ".join(line.removeprefix("Error: ").rstrip(".") for line in lines if line.startswith("Error: "))


def _tables(path: Path) -> Tables:
    backend = library(BACKEND)
    log = backend.log_open(str(path))
    if log["handle"] == backend.ffi.NULL:
        raise ValueError("its header is none")
    job, names, modules = backend.log_get_job(log), backend.log_get_name_records(log), backend.log_get_modules(log)
    segments = [
        _segments(record, module, names) for module in SEGMENTS if module in modules for record in _records(backend, log, module)
    ]
    counters = [
        _counters(record, module, names) for module in READS if module in modules for record in _records(backend, log, module)
    ]
    events = joined([empty(events=table) for table in segments])["events"]
    return empty(
        events=events.sort_by([("log", "ascending"), ("begin_ns", "ascending")]),
        counters=table_of("counters", counters),
        processes=_processes(job, backend.log_get_exe(log), events),
    )


def _records(backend: Any, log: Any, module: str) -> Iterator[dict[str, Any]]:
    dxt = module in SEGMENTS
    while True:
        record = backend.log_get_record(log, module, dtype="pandas" if dxt else "dict")
        if record is None:
            return
        yield record


def _processes(job: dict[str, Any], command: str, events: pa.Table) -> pa.Table:
    """A row for each rank; which host it ran on is known only of those that DXT has traced."""
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
    """A row of `counters`. Records of files that all ranks had open are of no rank."""
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
    """Darshan writes -1 for what it did not measure."""
    return max(0, round(float(seconds) * 1e9))
