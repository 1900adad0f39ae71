"""Logs for tests, written byte for byte in the format of docs/trace-log.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tailrace.trace.log import EVENT, name_hash

from bench.harness import written_log
from bench.harness.written_log import list_of, name_slots, write_slots

CALLS = {"open": (1, "open"), "read": (10, "read"), "pwrite": (21, "write"), "rename": (44, "meta"), "fwrite": (90, "stdio_write")}
CALLS |= {"MPI_Init": (400, "mpi"), "MPI_Barrier": (401, "collective"), "phase_begin": (500, "phase"), "phase_end": (501, "phase")}
CALLS |= {"stat": (60, "meta"), "unlink": (61, "meta"), "H5Fflush": (300, "hdf5_meta")}
CALLS |= {
    "close": (2, "close"),
    "lseek": (6, "seek"),
    "fsync": (30, "sync"),
    "fstat": (41, "meta"),
    "MPI_Gatherv": (129, "collective"),
}
OLD, NEW, ODD = b"/data/old", b"/data/new", b'/data/\xff\xfe,\n"odd"'
ROWS: list[dict[str, Any]] = [
    {"call": "open", "file": OLD, "begin_ns": 1100, "end_ns": 1200, "result": 3, "descriptor": 3, "detail": 0o101},
    {"call": "pwrite", "file": OLD, "begin_ns": 1300, "end_ns": 1400, "descriptor": 3, "offset": 8, "bytes": 100, "result": 60},
    {"call": "rename", "file": OLD, "begin_ns": 1500, "end_ns": 1600, "detail": NEW},
    {"call": "open", "file": ODD, "begin_ns": 1700, "end_ns": 1800, "result": -2},
    {"call": "read", "file": b"/nameless", "begin_ns": 1900, "end_ns": 2000, "bytes": 2**63, "result": -4000},
]


def events_of(rows: list[dict[str, Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """Events from rows; `call` is a name, and files are names. Fields that a row does not have are empty."""
    events = np.zeros(len(rows), EVENT)
    events["descriptor"], events["offset"] = -1, -1
    for event, row in zip(events, rows, strict=True):
        for key, value in row.items():
            event[key] = CALLS[value][0] if key == "call" else name_hash(value) if isinstance(value, bytes) else value
    return events


def make_run(folder: Path) -> Path:
    """A run of three processes on two hosts, whose clocks have different zeros; the last process was killed. It has seven calls."""
    folder.mkdir()
    whole: dict[str, Any] = {"end_ns": 9000, "end_real_ns": 9001, "rank": 0, "ranks": 2, "command": b"a.out\0input\0"}
    write_log(folder / "n1.1.0.trace", events_of(ROWS), [OLD, NEW, ODD], begin_ns=1000, begin_real_ns=50_000, **whole)
    write_log(folder / "n1.2.0.trace", events_of([]), [], begin_ns=3000, begin_real_ns=52_000, process=2)
    other: dict[str, Any] = {"host": b"n2", "process": 1, "rank": 1, "ranks": 2}
    write_log(folder / "n2.1.0.trace", events_of(ROWS[:2]), [OLD], begin_ns=1050, begin_real_ns=51_000, **other)
    return folder


def write_log(path: Path, events: Any, names: list[bytes], threads: int = 1, **header: Any) -> None:
    """Writes events, with a thread for each chunk in turn; `header` sets fields of the header."""
    write_slots(path, np.concatenate([*map(name_slots, names), events]), header_of(**header), threads)


def header_of(**fields: Any) -> np.ndarray[Any, np.dtype[Any]]:
    known = {
        "begin_ns": 1000,
        "begin_real_ns": 5000,
        "process": 1,
        "rank": -1,
        "ranks": -1,
        "host": b"n1",
        "program": b"/a.out",
        "calls": list_of(CALLS),
    }
    return written_log.header_of(**{**known, **fields})
