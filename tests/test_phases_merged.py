"""Phases of a run whose log has merged like calls: no byte is lost, and what cannot be compared is said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = """
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static double sum, all;
static char data[100];
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char name[32];
    snprintf(name, sizeof name, "of%d", rank);
    const int fd = open(name, O_CREAT | O_WRONLY, 0644);
    for (int k = 0; k < 20000; ++k) {
        if (write(fd, data, sizeof data) != sizeof data) return 1;
        if (k % 10 == 0) MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"""


def test_phases_of_a_log_with_merged_calls(tailrace_command: list[str], tmp_path: Path, needs: Any) -> None:
    needs("mpicc", "mpirun")
    (tmp_path / "many.c").write_text(PROGRAM)
    subprocess.run(["mpicc", "-O1", "many.c", "-o", "many"], cwd=tmp_path, check=True)
    ranks = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", "./many"]
    recorded = [*tailrace_command, "run", "--log", "log", "--budget", "1", "--", *ranks]
    subprocess.run(recorded, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    done = subprocess.run([*tailrace_command, "trace", "phases", "log", "--json"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, "not all could be compared"
    answer = json.loads(done.stdout)
    written = sum(phase["written_bytes"] for phase in answer["phases"])
    assert 2 * 20000 * 100 <= written <= 2 * 20000 * 100 + 100_000, "with some bytes of MPI itself"
    assert any("later collectives are merged into sums" in text for text in answer["unmatched"])
    assert sum("like calls are merged" in text for text in answer["unmatched"]) == 2
