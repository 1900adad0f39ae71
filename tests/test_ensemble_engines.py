"""One suite for all engines: every way of failing, a worker that is killed, kept files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble

from tests.ensembles import compare, write_ensemble
from tests.environment import open_mpi_environment

WAYS = ["good", "exit", "late", "missing", "good", "daemon", "hang", "stars", "signal", "good", "many", "empty"]


def run_with(engine: str, path: Path, word: str = "run") -> subprocess.CompletedProcess[str]:
    words = ["-m", "tailrace", "ensemble", word, str(path), "--engine", engine]
    command = [sys.executable, *words]
    if engine == "mpi":
        command = ["mpirun", "-n", "3", "--bind-to", "none", sys.executable, "-m", "mpi4py.futures", *words]
    environment = {**os.environ, **open_mpi_environment()}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=path.parent, env=environment, check=False)


class EngineTests:
    """What every engine must pass."""

    engine: str

    def test_every_member_has_its_outcome(self, tmp_path: Path) -> None:
        pytest.importorskip(
            {"mpi": "mpi4py", "dask": "distributed"}.get(self.engine, self.engine) if self.engine != "threads" else "os"
        )
        path = write_ensemble(tmp_path, WAYS, more='[keep]\nfiles = ["out*.txt"]')
        ran = run_with(self.engine, path)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        compare(tmp_path / "nasty-ensemble", WAYS)
        assert (tmp_path / "nasty-ensemble" / "kept" / "000002" / "out.txt").read_text() == "result: 2.5\n"
        again = run_with(self.engine, path, "resume")
        assert "12 members: 5 good, 7 failed, 0 left" in again.stdout, again.stderr
        assert again.returncode == 1
        assert "MPI_ABORT" not in ran.stderr + again.stderr  # mpirun may hang after it
        assert Ensemble(path).left() == 0


class TestThreads(EngineTests):
    engine = "threads"


class TestMpi(EngineTests):
    engine = "mpi"


@pytest.mark.full
class TestDask(EngineTests):
    engine = "dask"


@pytest.mark.full
class TestParsl(EngineTests):
    engine = "parsl"
