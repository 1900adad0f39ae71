"""Which part of the waiting I/O explains, of logs that are written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tailrace.trace.log import read_run
from tailrace.trace.phases import Phases, phases_of

from tests.trace_logs import events_of, write_log

pytestmark = pytest.mark.fast

S = 10**9
HDF5 = 2  # flag: made within HDF5
Row = dict[str, Any]


def call(name: str, begin: float, end: float, **fields: Any) -> Row:
    return {"call": name, "begin_ns": int(begin * S), "end_ns": int(end * S), "result": 0, **fields}


def found_in(folder: Path, *ranks: list[Row]) -> Phases:
    """Each rank leaves MPI_Init after 1 s. Its rows are calls and barriers."""
    for rank, rows in enumerate(ranks):
        for row in rows:
            if row["call"] == "MPI_Barrier":
                row["file"] = f"MPI ranks 0-{len(ranks) - 1}".encode()
        named = sorted({row["file"] for row in rows if "file" in row})
        header = {"rank": rank, "ranks": len(ranks), "process": rank + 1, "begin_ns": 0, "begin_real_ns": 1}
        write_log(folder / f"n1.{rank}.0.trace", events_of([call("MPI_Init", 0, 1), *rows]), named, **header)
    return phases_of(read_run(folder)[0])


def late_of(found: Phases) -> float:
    return sum(phase.late_by_io_s for phase in found.phases) / sum(phase.sync_s for phase in found.phases)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_rank_that_alone_does_io_explains_all_waiting(tmp_path: Path, ranks: int) -> None:
    rows = [[call("MPI_Barrier", 1 if rank != 1 else 5, 5)] for rank in range(ranks)]
    rows[1].insert(0, call("pwrite", 1, 5))
    assert late_of(found_in(tmp_path, *rows)) == pytest.approx(1.0)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_io_that_all_ranks_do_explains_nothing(tmp_path: Path, ranks: int) -> None:
    rows = [[call("pwrite", 1, 3), call("MPI_Barrier", 3 if rank != 1 else 5, 5)] for rank in range(ranks)]
    assert late_of(found_in(tmp_path, *rows)) == 0


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_half_of_a_delay_is_computing(tmp_path: Path, ranks: int) -> None:
    rows = [[call("MPI_Barrier", 1 if rank != 1 else 5, 5)] for rank in range(ranks)]
    rows[1].insert(0, call("pwrite", 2, 4))
    assert late_of(found_in(tmp_path, *rows)) == pytest.approx(0.5)


def test_several_writers_explain_the_waiting_of_the_rank_without_io(tmp_path: Path) -> None:
    writers = [[call("pwrite", 1, 5), call("MPI_Barrier", 5, 5)] for _ in range(2)]
    assert late_of(found_in(tmp_path, [call("MPI_Barrier", 1, 5)], *writers)) == pytest.approx(1.0)


def test_pipes_and_the_kernels_files_are_no_io(tmp_path: Path) -> None:
    names = [b"pipe:[7]", b"socket:[8]", b"/proc/stat", b"/sys/kernel/mm", b"/dev/null", b"/dev/shm/data", b"/data/out"]
    rows: list[Row] = [call("read", 1 + i, 2 + i, file=name, result=100) for i, name in enumerate(names)]
    found = found_in(tmp_path, [*rows, call("MPI_Barrier", 9, 10)], [call("MPI_Barrier", 1, 10)])
    assert sum(phase.read_bytes for phase in found.phases) == 200
    assert sum(phase.io_s for phase in found.phases) == pytest.approx(1.0)  # 2 s of one of two ranks
    assert sum(phase.late_by_io_s for phase in found.phases) == pytest.approx(2.0)


def test_collectives_within_a_library_cut_no_phase(tmp_path: Path) -> None:
    inner = [call("MPI_Barrier", 2, 3, flags=HDF5), call("MPI_Barrier", 4, 5, flags=HDF5)]
    found = found_in(tmp_path, *([*map(dict, inner), call("MPI_Barrier", 6, 7)] for _ in range(2)))
    assert [(phase.times, phase.seconds, phase.collectives) for phase in found.phases] == [(1, 1.0, 0), (1, 6.0, 3), (1, 0.0, 0)]


def test_a_call_counts_only_up_to_a_collective_within_it(tmp_path: Path) -> None:
    """Rank 0 waits for rank 1 within its call. That waiting is no I/O which would hide that rank 1 is late by I/O."""
    first = [call("fwrite", 1, 6), call("MPI_Barrier", 1, 5, flags=HDF5)]
    second = [call("pwrite", 1, 5), call("fwrite", 5, 6), call("MPI_Barrier", 5, 5, flags=HDF5)]
    assert late_of(found_in(tmp_path, first, second)) == pytest.approx(1.0)
