"""Programs under mpirun: right flags, a time limit, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.environment import HANGS_S, ROOT, open_mpi_environment
from tests.mpis import MPIS, Mpi

# The full output of a thousand failing comparisons would hide the cause.
SHOWN_CHARACTERS = 8000

# A rank that ends waits 2 s for the launcher to note it (PMIx 4.2). A launcher that got no processor for so long then takes the
# rank for one that did not call MPI_Finalize, and ends with 1. What such a run wrote is looked at as ever.
LAUNCHER_WAS_LATE = "exiting improperly"


@dataclass(frozen=True)
class Finished:
    command: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        stdout, stderr = self.stdout[-SHOWN_CHARACTERS:], self.stderr[-SHOWN_CHARACTERS:]
        return f"$ {' '.join(self.command)}\nexit {self.returncode}\n{stdout}\n{stderr}"


def run_within(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    timeout_s: float = HANGS_S,
) -> Finished:
    """Runs a command in a process group of its own; when the time is over the whole group is killed and the test fails."""
    words = tuple(str(word) for word in command)
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        kill_group(process)
        stdout, stderr = process.communicate()
        finished = Finished(words, process.returncode, stdout, stderr)
        pytest.fail(f"not finished after {timeout_s:g} s; killed\n{finished.output}", pytrace=False)
    except BaseException:
        kill_group(process)
        process.wait()
        raise
    return Finished(words, process.returncode, stdout, stderr)


def kill_group(process: subprocess.Popen[Any]) -> None:
    """Ends mpirun first, because it ends its ranks, which are in groups of their own. Then kills the rest of the group."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Mpirun:
    """mpirun("cases", 4, ["single", path]) runs build/tests/cases on 4 ranks; a .py file runs in this Python."""

    build: Path
    mpi: Mpi = MPIS["openmpi"]

    def program(self, program: str | Path) -> list[str]:
        path = Path(program)
        if path.suffix == ".py":
            return [sys.executable, str(path)]
        if not path.is_absolute():
            path = self.build / "tests" / path
        if not path.exists():
            pytest.fail(f"{path} is not built: run `make build`, for MPICH `make mpich`", pytrace=False)
        return [str(path)]

    def command(
        self, program: str | Path, ranks: int, args: Sequence[object] = (), of_ranks: Mapping[str, object] | None = None
    ) -> list[str]:
        """`of_ranks`: variables of the ranks that the launcher itself must not have."""
        launcher = [*self.mpi.launcher, *self.mpi.settings(of_ranks or {}), "-n", str(ranks)]
        return [*launcher, *self.program(program), *(str(arg) for arg in args)]

    def __call__(
        self,
        program: str | Path,
        ranks: int,
        args: Sequence[object] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        timeout_s: float = HANGS_S,
        of_ranks: Mapping[str, object] | None = None,
        check: bool = True,
    ) -> Finished:
        """Runs and waits. With `check`, an exit status other than 0 fails the test and shows the output."""
        python_path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
        surroundings = {"PYTHONPATH": python_path, **open_mpi_environment(), **(env or {})}
        finished = run_within(self.command(program, ranks, args, of_ranks), surroundings, cwd, timeout_s)
        if finished.returncode == 1 and LAUNCHER_WAS_LATE in finished.stderr:
            warnings.warn(f"mpirun noted too late that a rank had ended: {' '.join(finished.command)}", stacklevel=2)
            finished = replace(finished, returncode=0)
        if check and finished.returncode != 0:
            pytest.fail(finished.output, pytrace=False)
        return finished
