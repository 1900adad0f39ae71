"""Programs that end early: what they did is in their own logs, and no missing bytes of the process that waits for them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tailrace.trace import launch
from tailrace.trace.coverage import Coverage, coverage_of
from tailrace.trace.log import read_run

from bench import harness

BYTES, OF_PARENT = 50_000, 7
# RATIONALE: the parent has two threads, so the kernel's counts of it are those of all threads and of children that it waited for.
CHILD_THAT_ENDS = """
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void put(const char *name, size_t bytes) {
    static char data[1 << 16];
    const int file = open(name, O_CREAT | O_WRONLY, 0644);
    if (write(file, data, bytes) != (ssize_t)bytes) _exit(9);
    close(file);
}
static void *other(void *name) { return put(name, 7), NULL; }
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    pthread_t thread;
    pthread_create(&thread, NULL, other, "of_parent");
    pthread_join(thread, NULL);
    const pid_t child = fork();
    if (child == 0) {
        put("of_child", 50000);
        if (strcmp(argv[1], "abort") == 0) abort();
        if (strcmp(argv[1], "quick_exit") == 0) quick_exit(3);
        if (strcmp(argv[1], "_exit") == 0) _exit(3);
        raise(atoi(argv[1]));
    }
    int status;
    return waitpid(child, &status, 0) == child && status != 0 ? 0 : 1;
}
"""
RANKS_THAT_ABORT = """
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    static char data[50000], name[32];
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "rank.%d", rank);
    const int file = open(name, O_CREAT | O_WRONLY, 0644);
    if (write(file, data, sizeof data) != (ssize_t)sizeof data) return 9;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
    for (;;) pause();
}
"""


def built(folder: Path, compiler: str, source: str) -> Path:
    (folder / "program.c").write_text(source)
    subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-pthread", "program.c", "-o", "program"], cwd=folder, check=True)
    return folder / "program"


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("ends"), "gcc", CHILD_THAT_ENDS)


def covered(folder: Path) -> list[Coverage]:
    logs, damaged = read_run(folder)
    assert not damaged
    return coverage_of(logs)


@pytest.mark.parametrize("end", ["abort", "quick_exit", "_exit", "9", "15"])
def test_a_child_that_ends_early_is_accounted_for_by_its_own_log(tmp_path: Path, parent: Path, end: str) -> None:
    (tmp_path / "logs").mkdir()
    environment = launch.traced_environment(tmp_path / "logs", 64 << 20)
    subprocess.run([str(parent), end], env=environment, cwd=tmp_path, check=True, timeout=60)
    of_parent, of_child = covered(tmp_path / "logs")
    assert of_child.descriptors.written_bytes == BYTES
    assert of_parent.kernel is not None
    assert of_parent.kernel.written_bytes == of_parent.descriptors.written_bytes == OF_PARENT
    assert of_parent.rest.bytes == of_parent.surplus.bytes == 0
    assert of_parent.is_whole, of_parent.why_not_whole
    assert of_child.rest.bytes == 0
    assert (of_child.kernel is None) == (end in ("abort", "quick_exit", "9", "15")), "counts of the kernel at the end"


def test_ranks_that_end_by_mpi_abort_have_their_bytes(tmp_path: Path, tailrace_command: list[str]) -> None:
    program = built(tmp_path, "mpicc", RANKS_THAT_ABORT)
    mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    words = [*tailrace_command, "run", "--log", "logs", "--", *mpirun, str(program)]
    done = subprocess.run(words, cwd=tmp_path, env=harness.mpi_environment({}), capture_output=True, timeout=120, check=False)
    assert done.returncode != 0
    ranks = {of.rank: of for of in covered(tmp_path / "logs") if of.rank >= 0 and of.descriptors.written_bytes >= BYTES}
    assert sorted(ranks) == [0, 1]
    for of in ranks.values():
        assert of.rest.bytes == 0, of.why_not_whole
