"""Programs that the tracer records whole: every byte that the kernel counts is in the logs, of killed processes, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tailrace.launch.launchers import LAUNCHER_NAMES
from tailrace.trace import launch
from tailrace.trace.coverage import Coverage, coverage_of
from tailrace.trace.log import read_run
from tailrace.trace.started import unrecorded_in

from tests.environment import ROOT, open_mpi_environment

POOL = """
import multiprocessing, sys
def begin(both):
    import decimal, json, ssl, sqlite3  # libraries that the worker loads
    open("/dev/null").close()  # the tracer counts libraries at the next call; a worker may get no work and be killed before one
    both.wait()  # none is killed while it loads one: nobody can tell what of it was read then
def work(number):
    with open(f"pool.{number}", "wb") as file: file.write(b"x" * 10000)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2, begin, (context.Barrier(2),)) as pool: pool.map(work, range(6))
"""
MPI_IO = """
#include <mpi.h>
int main(int count, char **words) {
    int level;
    MPI_Init_thread(&count, &words, count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "made", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 0, "text", 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
}
"""
NAMED_THREAD = """
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static void *wait_long(void *unused) { for (;;) pause(); return unused; }
int main(void) {
    pthread_t thread;
    char name[16];
    pthread_create(&thread, NULL, wait_long, NULL);
    return pthread_setname_np(thread, "five5") != 0 || pthread_getname_np(thread, name, sizeof name) != 0;
}
"""


def coverage_in(folder: Path) -> list[Coverage]:
    logs, damaged = read_run(folder)
    assert not damaged
    assert not unrecorded_in(logs)
    return coverage_of(logs)


def run(folder: Path, *words: str | Path) -> list[Coverage]:
    logs = folder / "logs"
    logs.mkdir()
    env = {**launch.traced_environment(logs, 64 << 20), **open_mpi_environment()}
    subprocess.run(words, env=env, cwd=folder, check=True, timeout=60, capture_output=True)
    return coverage_in(logs)


def compiled(folder: Path, text: str, *command: str) -> Path:
    source, made = folder / "program.c", folder / "program"
    source.write_text(text)
    subprocess.run([*command, str(source), "-o", str(made)], check=True)
    return made


def rests(found: list[Coverage]) -> list[tuple[str, int, int]]:
    return [(Path(of.program).name, of.rest.read_bytes, of.rest.written_bytes) for of in found if of.rest != of.rest - of.rest]


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_libraries_that_workers_load_are_known_also_where_they_are_killed(tmp_path: Path, how: str) -> None:
    """What a worker does in the moment of its death is not recorded, such as a message of the pool. A library is more than that:
    the loader reads 832 bytes of it first."""
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    found = run(tmp_path, sys.executable, script, how)
    assert all(of.rest.bytes < 832 for of in found), rests(found)
    assert sum(of.descriptors.written_bytes >= 10000 for of in found) >= 1


def test_a_child_of_fork_counts_only_the_libraries_that_it_loads(tmp_path: Path) -> None:
    script = "import os\nif os.fork(): os.wait()\nelse:\n import sqlite3\n open('x', 'w').close()\n os._exit(0)"
    child = run(tmp_path, sys.executable, "-c", script)[-1]
    assert child.loader.read_calls >= 2  # the module, and the library that it needs
    assert child.loader.read_bytes >= 2 * 832
    assert child.rest.bytes == 0


@pytest.mark.parametrize("mode", ["r+", "w+", "a+"])
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_streams_that_read_and_write_in_turns_are_complete(tmp_path: Path, needs: Any, mode: str, seed: str) -> None:
    needs("gcc")
    program = compiled(tmp_path, (ROOT / "tests/trace/update_stream.c").read_text(), "gcc", "-O1")
    (of,) = run(tmp_path, program, seed, mode)
    assert (of.rest.read_bytes, of.rest.written_bytes) == (0, 0)
    assert of.streams.written_bytes > 200_000


def test_the_name_of_another_thread_is_a_file_of_the_c_library(tmp_path: Path, needs: Any) -> None:
    needs("gcc")
    (of,) = run(tmp_path, compiled(tmp_path, NAMED_THREAD, "gcc", "-pthread"))
    assert of.rest.bytes == 0
    assert (of.library.read_bytes, of.streams.written_bytes) == (6, 5)


@pytest.mark.parametrize("level", ["", "multiple"])
@pytest.mark.parametrize(("compiler", "launcher"), [("mpicc.openmpi", "mpirun.openmpi"), ("mpicc.mpich", "mpirun.mpich")])
def test_mpi_io_is_recorded_whole(tmp_path: Path, needs: Any, compiler: str, launcher: str, level: str) -> None:
    needs(compiler)
    assert launcher in LAUNCHER_NAMES
    program = compiled(tmp_path, MPI_IO, compiler)
    found = run(tmp_path, launcher, "-n", "2", program, *([level] if level else []))
    assert sorted(of.rank for of in found if of.rank >= 0) == [0, 1]
    assert all(of.rest.bytes == 0 for of in found), rests(found)


def test_dlopen_searches_with_the_paths_of_its_caller(tmp_path: Path, needs: Any) -> None:
    """The caller has a RUNPATH; the tracer, which stands between it and the C library, has none."""
    needs("gcc")
    (tmp_path / "hidden").mkdir()
    library = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / "hidden/libonly_here.so")]
    subprocess.run(library, input="int answer(void) { return 42; }", text=True, check=True)
    text = '#include <dlfcn.h>\nint main(void) { return dlopen("libonly_here.so", RTLD_NOW) == 0; }'
    (of,) = run(tmp_path, compiled(tmp_path, text, "gcc", f"-Wl,-rpath,{tmp_path / 'hidden'}"))
    assert (of.loader.read_calls, of.rest.bytes) == (1, 0)
