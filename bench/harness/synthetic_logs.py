"""Logs of a run that never took place, in the format of docs/trace-log.md, with the totals that a reader must find."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tailrace.trace.log import EVENT, name_hash

from bench.harness.written_log import Slots, header_of, list_of, name_slots, write_slots

WITHIN_MPI = 1
RANKS_OF_HOST = 16
STEP = 61  # between visited files: no divisor of usual numbers of files, so that each process visits all
BEGIN_NS = 1_000_000_000
CALLS = {
    "open": (1, "open"),
    "MPI_File_write_at": (184, "mpi_write"),
    "pwrite": (21, "write"),
    "read": (10, "read"),
    "close": (2, "close"),
}
# A visit of a file makes these calls: name, begin and end in ns since the visit's begin, flags, bytes.
VISIT_NS = 2000
VISIT = (
    ("open", 0, 200, 0, 0),
    ("MPI_File_write_at", 300, 1300, 0, 4096),
    ("pwrite", 500, 1200, WITHIN_MPI, 4096),
    ("read", 1400, 1500, 0, 100),
    ("close", 1600, 1650, 0, 0),
)


@dataclass(frozen=True)
class Totals:
    """What is in the logs."""

    events: int
    processes: int
    files: int
    written_bytes: int  # by POSIX
    read_bytes: int
    posix_self_ns: int
    mpi_io_self_ns: int


def write_logs(folder: Path, processes: int, files: int, events: int) -> Totals:
    """Each process visits the files in turn, beginning with another one; the names are those of an output per rank and step."""
    folder.mkdir(parents=True)
    visits = events // (processes * len(VISIT))
    names = [f"/scratch/model/out.{number % 100:04}.{number // 100:05}.nc".encode() for number in range(files)]
    ids = np.array([name_hash(name) for name in names], np.uint64)
    slots = np.concatenate([name_slots(name) for name in names])
    for process in range(processes):
        visited = (np.arange(visits) * STEP + process) % files
        used = np.unique(visited)
        of_names = slots if len(used) == files else np.concatenate([name_slots(names[number]) for number in used])
        _write_log(folder, process, processes, np.concatenate([of_names, _events(ids[visited])]))
    of_run = processes * visits
    return Totals(
        of_run * len(VISIT), processes, len(names), 4096 * of_run, 100 * of_run, (200 + 700 + 100 + 50) * of_run, 300 * of_run
    )


def _events(files: Slots) -> Slots:
    events = np.zeros((len(files), len(VISIT)), EVENT)
    began = BEGIN_NS + VISIT_NS * np.arange(len(files))
    for column, (call, begin, end, flags, size) in enumerate(VISIT):
        of_call = events[:, column]
        of_call["call"], of_call["flags"], of_call["file"] = CALLS[call][0], flags, files
        of_call["begin_ns"], of_call["end_ns"] = began + begin, began + end
        of_call["descriptor"], of_call["offset"] = 3, 4096 * np.arange(len(files)) if size == 4096 else -1
        of_call["bytes"], of_call["result"] = size, 3 if call == "open" else size
    return events.reshape(-1)


def _write_log(folder: Path, rank: int, ranks: int, slots: Slots) -> None:
    host, last = f"n{rank // RANKS_OF_HOST}", BEGIN_NS + VISIT_NS * len(slots)
    header = header_of(
        calls=list_of(CALLS),
        begin_ns=BEGIN_NS,
        begin_real_ns=2 * BEGIN_NS,
        end_ns=last,
        end_real_ns=last + BEGIN_NS,
        process=100 + rank,
        rank=rank,
        ranks=ranks,
        host=host.encode(),
        program=b"/scratch/model/a.out",
        command=b"a.out\0input\0",
    )
    write_slots(folder / f"{host}.{100 + rank}.0.trace", slots, header)
