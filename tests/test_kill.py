"""Runs that are killed at any moment: what was committed stays, and the next run goes on."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.environment import open_mpi_environment
from tests.error_run import answers_in, committed_steps
from tests.kill_values import IS_DATASET, LAYOUTS, TIMEOUT_S, check_shown, check_whole, intact_lines, problems
from tests.mpirun import Mpirun, kill_group

pytestmark = pytest.mark.both_mpis(3)


@dataclass
class Writer:
    """kill_steps on two ranks, which tell into files of their own."""

    process: subprocess.Popen[bytes]
    answers: Path
    told: list[list[dict[str, Any]]] = field(default_factory=list)  # by each rank; once it has ended

    @staticmethod
    def start(mpirun: Mpirun, directory: Path, options: str, steps: int) -> Writer:
        answers = Path(tempfile.mkdtemp())
        command = mpirun.command("kill_steps", 2, ["run", directory, options, steps])
        env = {**os.environ, **open_mpi_environment(), "ANSWERS": str(answers)}
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=env, start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)
        return Writer(process, answers)

    def pids(self) -> list[int]:
        """Of the ranks, as soon as both have told theirs."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            told = answers_in(self.answers, 2)
            if all(told):
                return [of_rank[0]["pid"] for of_rank in told]
            time.sleep(0.001)
        pytest.fail("the ranks did not start")

    def end(self) -> None:
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pytest.fail("mpirun did not end")
        finally:
            kill_group(self.process)
            self.told = answers_in(self.answers, 2)
            shutil.rmtree(self.answers)


def kill_one(mpirun: Mpirun, directory: Path, options: str, victim: int, delay_s: float) -> int:
    """Steps without end; a rank gets SIGKILL some time after the start. Returns how many steps had been acknowledged by then."""
    writer = Writer.start(mpirun, directory, options, 1_000_000)
    try:
        pid = writer.pids()[victim]
        time.sleep(delay_s)  # the moment is the random case here
        os.kill(pid, signal.SIGKILL)
    finally:
        writer.end()
    steps = [[answer for answer in of_rank if answer["call"] == "end_step"] for of_rank in writer.told]
    assert {answer["status"] for of_rank in steps for answer in of_rank} <= {"OK"}
    return max(map(len, steps))


def check_after_kill(layout: str, directory: Path, acknowledged: int, was_there: int) -> int:
    """Returns the number of committed steps."""
    journal = directory / "history.parts" / "journal.jsonl"
    if not journal.exists():
        assert acknowledged == 0
        return 0
    committed = [line for line in intact_lines(journal) if line["kind"] == "step"]
    assert [line["time"] for line in committed] == list(range(len(committed)))
    assert len(committed) >= was_there + acknowledged, "a step that was acknowledged is gone"
    assert problems(directory) == []
    shown = check_shown(directory / "history.nc", len(committed)) if (directory / "history.nc").exists() else 0
    if layout in IS_DATASET:  # an index may be older; the dataset lacks at most the time of the last step
        assert shown >= len(committed) - 1
    return len(committed)


def kill_and_go_on(mpirun: Mpirun, directory: Path, layout: str, kills: int, rng: random.Random) -> None:
    steps = 0
    for kill in range(kills):
        victim = rng.randrange(2)
        delay_s = rng.choice([rng.uniform(0, 0.05), rng.uniform(0, 0.6)])
        context = f"{layout}: kill {kill} of rank {victim} after {delay_s:.4f} s, {steps} steps before"
        print(context)
        acknowledged = kill_one(mpirun, directory, LAYOUTS[layout], victim, delay_s)
        steps = check_after_kill(layout, directory, acknowledged, steps)
    mpirun("kill_steps", 2, ["run", directory, LAYOUTS[layout], 2], timeout_s=TIMEOUT_S)
    check_whole(directory, steps + 2, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_killed_rank(mpirun: Mpirun, tmp_path: Path, layout: str, rng: random.Random) -> None:
    """A run is killed, the next ends well. The seed is in the header of the test run."""
    kill_and_go_on(mpirun, tmp_path, layout, 1, rng)


@pytest.mark.full
@pytest.mark.parametrize("layout", LAYOUTS)
def test_killed_rank_many_times(mpirun: Mpirun, tmp_path: Path, layout: str, rng: random.Random) -> None:
    kill_and_go_on(mpirun, tmp_path, layout, 8, rng)


@pytest.mark.parametrize("layout", IS_DATASET)
def test_dataset_opens_at_every_moment(mpirun: Mpirun, tmp_path: Path, layout: str, rng: random.Random) -> None:
    """The ranks are stopped again and again, and stock HDF5 opens what is there: never a step that is not committed, never fewer
    than before. The file grows several times, and is cut to its steps in the end."""
    writer, opened, seen = Writer.start(mpirun, tmp_path, LAYOUTS[layout], 120), 0, 0
    try:
        pids = writer.pids()
        while writer.process.poll() is None:
            time.sleep(rng.uniform(0, 0.004))  # the moment is the random case here
            with stopped(pids):
                if (tmp_path / "history.nc").exists():
                    seen = max(
                        seen, check_shown(tmp_path / "history.nc", len(committed_steps(tmp_path)), from_step=max(seen - 2, 0))
                    )
                    opened += 1
    finally:
        writer.end()
    assert writer.process.returncode == 0
    assert opened > 10, "the file was hardly ever opened while it grew"
    check_whole(tmp_path, 120)


@contextlib.contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
