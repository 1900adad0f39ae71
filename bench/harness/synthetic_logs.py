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
    "MPI_Barrier": (120, "collective"),
}
# A visit of a file makes these calls: name, begin and end in ns since the visit's begin, flags, bytes.
VISIT_NS = 2_000_000
VISIT = (
    ("open", 0, 200_000, 0, 0),
    ("MPI_File_write_at", 300_000, 1_300_000, 0, 4096),
    ("pwrite", 500_000, 1_200_000, WITHIN_MPI, 4096),
    ("read", 1_400_000, 1_500_000, 0, 100),
    ("close", 1_600_000, 1_650_000, 0, 0),
)
# After so many visits all ranks meet; each next rank arrives some ns later.
VISITS, ARRIVES_NS, NEXT_NS, LEAVES_NS = 25, 1_700_000, 1000, 1_900_000
MPI_IO_NS, POSIX_NS = 300_000, 200_000 + 700_000 + 100_000 + 50_000  # of a visit: without what they called
CREATES = 0o101  # O_CREAT | O_WRONLY


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
    collectives: int


def write_logs(folder: Path, processes: int, files: int, events: int) -> Totals:
    """Each process visits the files in turn, beginning with another one; the names are those of an output per rank and step."""
    folder.mkdir(parents=True)
    meetings = events // (processes * (VISITS * len(VISIT) + 1))
    visits = meetings * VISITS
    names = [f"/scratch/model/out.{number % 100:04}.{number // 100:05}.nc".encode() for number in range(files)]
    ids = np.array([name_hash(name) for name in names], np.uint64)
    slots = np.concatenate([name_slots(name) for name in names])
    everyone = f"MPI ranks 0-{processes - 1}".encode()
    for process in range(processes):
        visited = (np.arange(visits) * STEP + process) % files
        used = np.unique(visited)
        of_names = [slots] if len(used) == files else [name_slots(names[number]) for number in used]
        of_names.append(name_slots(everyone))
        _write_log(folder, process, processes, [*of_names, _events(ids[visited], process, name_hash(everyone))], visits)
    of_run, met = processes * visits, processes * meetings
    totals = (processes, len(names), 4096 * of_run, 100 * of_run, POSIX_NS * of_run, MPI_IO_NS * of_run, met)
    return Totals(of_run * len(VISIT) + met, *totals)


def io_seconds(totals: Totals) -> float:
    """How much sooner the run would end without its calls on files: each rank makes them between the same meetings."""
    return (totals.posix_self_ns + totals.mpi_io_self_ns) / totals.processes / 1e9


def _events(files: Slots, process: int, everyone: int) -> Slots:
    """The visits, and a meeting after each VISITS of them."""
    events = np.zeros((len(files) // VISITS, VISITS * len(VISIT) + 1), EVENT)
    of_visits = events[:, :-1].reshape(len(files), len(VISIT))
    began = BEGIN_NS + VISIT_NS * np.arange(len(files))
    for column, (call, begin, end, flags, size) in enumerate(VISIT):
        of_call = of_visits[:, column]
        of_call["call"], of_call["flags"], of_call["file"] = CALLS[call][0], flags, files
        of_call["begin_ns"], of_call["end_ns"] = began + begin, began + end
        of_call["descriptor"], of_call["offset"] = 3, 4096 * np.arange(len(files)) if size == 4096 else -1
        of_call["bytes"], of_call["result"] = size, 3 if call == "open" else size
        of_call["detail"] = CREATES if call == "open" else 0
    events[:, :-1] = of_visits.reshape(len(events), -1)
    meets, last = events[:, -1], began[VISITS - 1 :: VISITS]
    meets["call"], meets["file"], meets["descriptor"], meets["offset"] = CALLS["MPI_Barrier"][0], everyone, -1, -1
    meets["begin_ns"], meets["end_ns"] = last + ARRIVES_NS + NEXT_NS * process, last + LEAVES_NS
    return events.reshape(-1)


def _write_log(folder: Path, rank: int, ranks: int, slots: list[Slots], visits: int) -> None:
    host, last = f"n{rank // RANKS_OF_HOST}", BEGIN_NS + VISIT_NS * visits
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
    write_slots(folder / f"{host}.{100 + rank}.0.trace", np.concatenate(slots), header)
