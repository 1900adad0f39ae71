"""The functions that led to a call, as the log of a run has them: in C, and in Python without a call into Python."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tailrace.trace.call_paths import paths_of, sites_of
from tailrace.trace.log import Log

from tests.mpirun import Mpirun
from tests.recorder import Recorder

PROGRAM = """
#include <alloca.h>
#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
static int file;
static double moved;
OWN static void put(const char *text) { if (write(file, text, strlen(text)) < 0) MPI_Abort(MPI_COMM_WORLD, 1); moved += 1; }
OWN static void reduce(double *value) { MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); moved += 1; }
OWN static void solve(void) { double a = 1; reduce(&a); put("solve"); moved += a; }
OWN static void update(void) { double a = 2; reduce(&a); put("update"); moved += a; }
OWN static void with_room(int bytes) {
    char *room = alloca((size_t)bytes);
    room[bytes - 1] = 0;
    put(room + bytes - 1);
    put("room");
    moved += room[0];
}
OWN static void deep(int levels) { if (levels > 0) deep(levels - 1); else put("deep"); moved += 1; }
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    file = open(rank == 0 ? "out0" : "out1", O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 50; ++i) {
        solve();
        update();
        with_room(16 + 64 * (i % 7));
        deep(i % 5);
    }
    deep(500);
    MPI_Finalize();
    return moved > 0 ? 0 : 3;
}
"""
PYTHON_PROGRAM = """
import ctypes, sys
libmpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
world = ctypes.addressof(ctypes.c_char.in_dll(libmpi, "ompi_mpi_comm_world"))
mpi = ctypes.CDLL(None)
mpi.MPI_Init(None, None)

def write_output():
    with open("out", "wb", buffering=0) as file:
        file.write(b"x" * 100)

class Model:
    def advance(self):
        mpi.MPI_Barrier(ctypes.c_void_p(world))

def numbers():
    Model().advance()
    yield 1

def main():
    for i in range(20):
        write_output()
        list(numbers())

main()
mpi.MPI_Finalize()
"""
PYENV = Path("/root/.pyenv/versions")
PYTHONS = [sys.executable, *map(str, sorted(PYENV.glob("3.*/bin/python3")))]


def paths_by_call(log: Log) -> Counter[tuple[str, tuple[str, ...]]]:
    """How often each call was made along each path, by the names of its functions."""
    counts = Counter((log.calls[int(event["call"])].name, log.name_of(int(event["detail"]))) for event in log.events)
    paths = paths_of({text for (_, text) in counts})
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for (call, text), count in counts.items():
        found[call, tuple(frame.function for frame in paths[text] if frame.function)] += count
    return found


def test_paths_of_a_program_in_c(mpirun: Mpirun, tmp_path: Path) -> None:
    """A path that was seen is recognised by its return addresses: also where two callers of a wrapper have the same frames, where
    the room of a frame differs from call to call, and in recursion."""
    record = Recorder(mpirun, tmp_path)
    (tmp_path / "paths.c").write_text(PROGRAM)
    subprocess.run(["mpicc", "-O1", tmp_path / "paths.c", "-o", tmp_path / "paths"], check=True, timeout=60)
    for log in record(tmp_path / "paths", ranks=2):
        found = paths_by_call(log)
        assert found["MPI_Allreduce", ("reduce", "solve", "main")] == 50
        assert found["MPI_Allreduce", ("reduce", "update", "main")] == 50
        assert found["write", ("put", "solve", "main")] == 50
        assert found["write", ("put", "update", "main")] == 50
        assert found["write", ("put", "with_room", "main")] == 100
        for levels in range(5):
            assert found["write", ("put", *["deep"] * (levels + 1), "main")] == 10
        (longest,) = [path for (call, path), count in found.items() if call == "write" and len(path) > 10]
        assert longest == ("put", *["deep"] * 11), "of a long path, the innermost functions"


@pytest.mark.parametrize("python", PYTHONS)
def test_paths_of_a_program_in_python(mpirun: Mpirun, tmp_path: Path, python: str) -> None:
    """Versions that are installed; others than 3.9 to 3.14 have no functions of Python."""
    record = Recorder(mpirun, tmp_path)
    script = tmp_path / "paths.py"
    script.write_text(PYTHON_PROGRAM)
    command = [python, "-c", "import sys; print(sys.version_info.minor)"]
    minor = int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    for log in record(python, script, ranks=2):
        found = paths_by_call(log)
        if 9 <= minor <= 14:
            advance = "Model.advance" if minor >= 11 else "advance"  # earlier versions have no qualified name in the code
            assert found["write", ("write_output", "main", "paths.py")] == 20
            assert found["MPI_Barrier", (advance, "numbers", "main", "paths.py")] == 20
        else:
            assert not any("write_output" in path for _, path in found)
            assert sum(count for (call, _), count in found.items() if call == "MPI_Barrier") == 20


def test_the_text_of_a_path() -> None:
    assert sites_of("/a b/x+0x1f < +0x20 < /lib/y+0x3 < python /s.py:<module>") == [
        "/a b/x+0x1f",
        "/a b/x+0x20",
        "/lib/y+0x3",
        "python /s.py:<module>",
    ]
    assert sites_of("/old/a.out+0x10") == ["/old/a.out+0x10"]
    assert sites_of("no path") == sites_of("") == sites_of("/x+0xzz") == []


def test_functions_of_python_are_without_its_modules() -> None:
    text = (
        "/usr/lib/x.so+0x1 < python /usr/lib/python3.11/shutil.py:copyfile < python /home/me/run.py:Model.save.<locals>.put"
        " < python /home/me/run.py:<module>"
    )
    path = paths_of([text])[text]
    assert [frame.function for frame in path] == ["Model.save.put", "run.py"]
    assert [frame.is_main for frame in path] == [False, True]
