"""Recorded MPI programs: collectives with their ranks and places, MPI-IO, HDF5 and netCDF above it, phases and the last rank."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.trace import launch
from tailrace.trace.log import Log, read_run
from tailrace.trace.phases import Phase, Phases, phases_of

from tests.mpirun import Mpirun
from tests.recorder import Recorder, called

pytestmark = pytest.mark.both_mpis(3, 10)

RANKS = 4
ALL = "MPI ranks 0-3"


@pytest.fixture
def record(mpirun: Mpirun, tmp_path: Path) -> Recorder:
    return Recorder(mpirun, tmp_path)


def of_mpi(log: Log) -> list[tuple[str, str, int, int, int]]:
    return [event for event in called(log) if event[0].startswith("MPI_")]


def phase_of(found: Phases, name: str) -> Phase:
    (phase,) = [phase for phase in found.phases if phase.name == name]
    return phase


def test_collectives_and_mpi_io_are_recorded_as_the_program_calls_them(record: Recorder) -> None:
    for log in record("phase_case", record.work):
        rank = int(log.header["rank"])
        pair = "MPI ranks 0,2" if rank % 2 == 0 else "MPI ranks 1,3"
        shared = str(record.work / "all")
        begin, *events, end = of_mpi(log)
        assert (begin[0], end[0]) == ("MPI_Init", "MPI_Finalize")
        assert events == [
            ("MPI_Barrier", ALL, -1, 0, 0),
            ("MPI_Barrier", ALL, -1, 0, 0),
            ("MPI_Allreduce", ALL, -1, 0, 0),  # in place: nothing of its own
            ("MPI_Comm_split", ALL, -1, 0, 0),
            ("MPI_Bcast", pair, -1, 8, 0),
            ("MPI_Comm_free", "", -1, 0, 0),
            ("MPI_Bcast", f"MPI ranks {rank}", -1, 4 << 30, 0),
            ("MPI_File_open", shared, -1, 0, 0),
            ("MPI_File_write_at_all", shared, 1000 * rank, 800, 800),
            ("MPI_File_read_at", shared, 1000 * rank, 400, 400),
            ("MPI_Ibarrier", ALL, -1, 0, 0),
            ("MPI_File_iwrite_at", shared, 1000 * rank, 160, 160),
            ("MPI_Waitall", shared, -1, 0, 0),
            ("MPI_File_iread_at", shared, 1000 * rank, 80, 80),
            ("MPI_Wait", shared, -1, 0, 0),
            ("MPI_Ibarrier", ALL, -1, 0, 0),
            ("MPI_File_close", shared, -1, 0, 0),
        ]
        within = [int(event["flags"]) & 1 for event in log.events if log.name_of(int(event["file"])) == shared]
        assert sum(within) > 0, "what MPI-IO makes of it"


def test_phases_have_the_last_rank_and_its_io(record: Recorder) -> None:
    found = phases_of(record("phase_case", record.work))
    assert not found.unmatched
    assert [phase.name for phase in found.phases] == ["8exec", "9write"]
    compute, write = phase_of(found, "8exec"), phase_of(found, "9write")
    assert (compute.last_ranks, write.last_ranks) == ({1: 1}, {2: 1})
    assert compute.slowest_rank in range(RANKS)
    for phase in (compute, write):
        assert 0.15 < phase.sync_s < 3.0
        assert phase.most_s >= phase.sync_s
    assert compute.late_by_io_s < 0.25 * compute.sync_s
    assert write.late_by_io_s > 0.5 * write.sync_s
    assert compute.written_bytes == 0
    assert write.written_bytes > 100 * 4096


def test_without_marks_phases_lie_between_collectives_of_all_ranks(record: Recorder) -> None:
    found = phases_of(record("phase_case_mpi"))
    assert [phase.name for phase in found.phases] == [
        "to MPI_Init",
        "from MPI_Init to MPI_Barrier phase_case_mpi.f90:10",
        "from MPI_Barrier phase_case_mpi.f90:10 to MPI_Barrier phase_case_mpi.f90:10",
        "from MPI_Barrier phase_case_mpi.f90:10 to MPI_Allreduce phase_case_mpi.f90:12",
        "to the end",
    ]
    assert [(phase.times, phase.collectives) for phase in found.phases] == [(1, 0), (1, 1), (2, 2), (1, 1), (1, 0)]


def test_phases_of_a_program_that_uses_the_library(record: Recorder) -> None:
    """The phases are marked in C++. The tracer's variables do not disturb the configuration of the library."""
    found = phases_of(record("facade_case", record.work, "named", "layout = 'shared'", 3))
    assert [phase.name for phase in found.phases] == ["step 0", "step 1", "step 2"]
    assert all(phase.written_bytes > 0 for phase in found.phases)


@pytest.mark.parametrize("program", ["phase_case_mpi", "phase_case_f08"])
def test_calls_from_fortran_have_their_place(record: Recorder, program: str) -> None:
    for log in record(program):
        assert [event[:4] for event in of_mpi(log)][1:-1] == [("MPI_Barrier", ALL, -1, 0)] * 3 + [("MPI_Allreduce", ALL, -1, 4)]
        sites = {log.name_of(int(event["detail"])) for event in log.events if log.calls[int(event["call"])].group == "collective"}
        assert all(program in site for site in sites), sites


def test_barriers_can_be_inserted(record: Recorder) -> None:
    for log in record("phase_case", record.work, TAILRACE_BARRIERS="MPI_File_open,phase_begin"):
        calls = log.events[[call.startswith(("MPI_", "phase")) for call, *_ in called(log)]]
        names = [(log.calls[int(event["call"])].name, bool(event["flags"] & 256)) for event in calls]
        for index, (name, _) in enumerate(names):
            wanted = name in ("MPI_File_open", "phase_begin")
            assert (names[index - 1] == ("MPI_Barrier", True)) == wanted, names


def test_no_barrier_is_inserted_before_mpi_begins(record: Recorder) -> None:
    for log in record("phase_case", record.work, TAILRACE_BARRIERS="MPI_Init,MPI_Finalize"):
        begin, *_, barrier, end = of_mpi(log)
        assert (begin[0], barrier[0], end[0]) == ("MPI_Init", "MPI_Barrier", "MPI_Finalize")


def test_calls_of_fortran_with_the_most_arguments(record: Recorder) -> None:
    """The program checks the received values."""
    later = ["MPI_Igatherv", "MPI_Iscatterv", "MPI_Ialltoallv", "MPI_Ialltoallw"]
    for log in record("words_case"):
        assert [event[0] for event in of_mpi(log)][1:-1] == later


def test_weak_mpi_symbols_fail_without_a_crash(tmp_path: Path) -> None:
    """While a program is recorded, weak symbols of MPI are defined without an MPI. A call of one fails."""
    script = "import ctypes; print(ctypes.CDLL(None).MPI_Barrier(0), ctypes.CDLL(None).nc_close(1))"
    environment = launch.traced_environment(tmp_path, 1 << 20)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "-1 -1\n"), done.stderr


def test_a_run_without_ranks_has_no_phases(tmp_path: Path) -> None:
    environment = launch.traced_environment(tmp_path, 1 << 20)
    subprocess.run(["true"], env=environment, check=True, timeout=60)
    assert phases_of(read_run(tmp_path)[0]) == Phases([], 0, [])
