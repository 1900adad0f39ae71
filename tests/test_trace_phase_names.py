"""Names of phases between collectives: by the functions that did the I/O, by the files, by the functions of the collectives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tailrace.trace.log import read_run
from tailrace.trace.path_labels import Step, labels_of, without_parameters
from tailrace.trace.phase_names import folded
from tailrace.trace.phases import Phases, phases_of

from tests.mpirun import Mpirun
from tests.recorder import Recorder
from tests.trace_logs import events_of, write_log

S = 10**9
# A library of wrappers, and a program that calls MPI and writes through it alone.
PROGRAM = """
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
static char piece[1 << 20];
static volatile int done;
OWN static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); ++done; }
OWN static void put(int file) {
    for (int i = 0; i < 8; ++i)
        if (pwrite(file, piece, sizeof piece, i << 20) < 0) ++done;
    fsync(file);
    ++done;
}
OWN static int create(const char *name, int number) {
    char path[100];
    snprintf(path, sizeof path, name, number);
    ++done;
    return open(path, O_CREAT | O_RDWR, 0644);
}
OWN static void write_fields(int number) { int file = create("field%d.dat", number); put(file); close(file); barrier(); ++done; }
OWN static void write_restart(int number) { int file = create("restart%d.dat", number); put(file); close(file); barrier(); ++done; }
OWN static void advance(void) { usleep(30000); barrier(); ++done; }
OWN static void exchange(void) { usleep(20000); barrier(); ++done; }
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 4; ++step) {
        advance();
        exchange();
        write_fields(10 * rank + step);
        write_restart(10 * rank + step);
    }
    return MPI_Finalize();
}
"""
WRITES = {"put < write_fields": 4, "put < write_restart": 4}
COMPUTES = {"from barrier < advance to barrier < exchange": 4, "from barrier < write_restart to barrier < advance": 3}


def record(mpirun: Mpirun, folder: Path, *, stripped: bool) -> Phases:
    (folder / "wrapped.c").write_text(PROGRAM)
    options = ["-s"] if stripped else []
    subprocess.run(["mpicc", "-O1", *options, folder / "wrapped.c", "-o", folder / "wrapped"], check=True, timeout=60)
    return phases_of(Recorder(mpirun, folder)(folder / "wrapped", ranks=2))


def test_wrappers_are_seen_through(mpirun: Mpirun, tmp_path: Path) -> None:
    found = record(mpirun, tmp_path, stripped=False)
    assert not found.unmatched
    times = {phase.name: phase.times for phase in found.phases}
    assert {name: times.get(name) for name in {**WRITES, **COMPUTES}} == {**WRITES, **COMPUTES}
    written = {phase.name: phase.written_bytes for phase in found.phases}
    assert all(written[name] == 2 * 4 * 8 << 20 for name in WRITES)


def test_a_stripped_program_has_the_names_of_its_files(mpirun: Mpirun, tmp_path: Path) -> None:
    times = {phase.name: phase.times for phase in record(mpirun, tmp_path, stripped=True).phases}
    assert (times.get("writing field*.dat"), times.get("writing restart*.dat")) == (4, 4)
    computing = [name for name, count in times.items() if name.startswith("from wrapped+0x") and count >= 3]
    assert len(computing) == 2, times


@pytest.mark.fast
def test_labels_have_as_many_callers_as_tell_paths_apart() -> None:
    paths = {
        "one": [Step("reduce"), Step("sum"), Step("solve"), Step("main")],
        "two": [Step("reduce"), Step("sum"), Step("update"), Step("main")],
        "other": [Step("write"), Step("output"), Step("main")],
    }
    assert labels_of(paths) == {"one": "reduce < solve", "two": "reduce < update", "other": "write"}
    assert labels_of(paths, least=2)["other"] == "write < output"
    assert labels_of({}) == {}


@pytest.mark.fast
def test_paths_of_the_same_functions_differ_by_the_place_of_a_call() -> None:
    paths = {line: [Step("barrier", "b.c:3"), Step("run", line)] for line in ("r.c:10", "r.c:20")}
    assert labels_of(paths) == {"r.c:10": "barrier at r.c:10", "r.c:20": "barrier at r.c:20"}
    same = {line: [Step("barrier"), Step("run")] for line in "ab"}
    assert labels_of(same) == {"a": "barrier", "b": "barrier"}


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("LAMMPS_NS::Dump::write()", "LAMMPS_NS::Dump::write"),
        ("put(int, std::vector<int> const&) const", "put"),
        ("(anonymous namespace)::put(int)", "(anonymous namespace)::put"),
        ("Sum::operator()(int)", "Sum::operator()"),
        ("model::advance", "model::advance"),
    ],
)
def test_functions_are_shown_without_parameters(name: str, shown: str) -> None:
    assert without_parameters(name) == shown


@pytest.mark.fast
def test_numbers_in_names_of_files_are_folded() -> None:
    assert [folded(name) for name in ("/data/out.0017.12.nc", "/data/restart", "")] == ["out.*.*.nc", "restart", "?"]


@pytest.mark.fast
def test_openings_belong_to_the_functions_that_write_the_file(tmp_path: Path) -> None:
    """An opening has no path in the log. Here it takes longer than the writing."""
    path, place = b"python /run.py:write_output < python /run.py:<module>", b"/a.out+0x10"
    for rank in (0, 1):
        rows = [
            {"call": "MPI_Init", "begin_ns": 0, "end_ns": S, "result": 0},
            {"call": "open", "begin_ns": S, "end_ns": 4 * S, "file": b"/out1", "result": 3, "detail": 0o101},
            {"call": "pwrite", "begin_ns": 4 * S, "end_ns": 5 * S, "file": b"/out1", "result": 9, "detail": path},
            {"call": "MPI_Barrier", "begin_ns": 5 * S, "end_ns": 6 * S, "file": b"MPI ranks 0-1", "detail": place},
        ]
        header = {"rank": rank, "ranks": 2, "process": rank + 1, "begin_ns": 0, "begin_real_ns": 1}
        write_log(tmp_path / f"n1.{rank}.0.trace", events_of(rows), [path, place, b"/out1", b"MPI ranks 0-1"], **header)
    assert [phase.name for phase in phases_of(read_run(tmp_path)[0]).phases] == ["to MPI_Init", "write_output", "to the end"]
