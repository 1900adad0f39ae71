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
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tailrace

from tests.environment import HANGS_S, open_mpi_environment
from tests.error_run import YIELD, answers_in, committed_steps
from tests.kill_states import STATES, Histogram, Moment, moments, state_at_end
from tests.kill_values import (
    IS_DATASET,
    LAYOUTS,
    OF_ONE_STEP,
    check_shown,
    check_times_of_parts,
    check_whole,
    intact_lines,
    problems,
)
from tests.mpirun import Mpirun, kill_group
from tests.presets import PRESETS

pytestmark = pytest.mark.both_mpis(2)

STEPS = 5  # of a run that is killed; its growing parts have room for more


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
        deadline = time.monotonic() + HANGS_S
        while time.monotonic() < deadline and self.process.poll() is None:
            told = answers_in(self.answers, 2)
            if all(told):
                return [of_rank[0]["pid"] for of_rank in told]
            time.sleep(0.001)
        pytest.fail("the ranks did not start")

    def end(self) -> None:
        try:
            self.process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            pytest.fail("mpirun did not end")
        finally:
            kill_group(self.process)
            self.told = answers_in(self.answers, 2)
            shutil.rmtree(self.answers)


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


# ---- random kills ---------------------------------------------------------------------------------------------------------------


class Traces:
    """When the ranks can be killed: what they do in a run in an empty directory, and in one where a killed run was before."""

    def __init__(self, mpirun: Mpirun, injector: Path, directory: Path) -> None:
        self.mpirun, self.injector, self.directory = mpirun, injector, directory

    def moments(self, layout: str, ranks: int, again: bool, victim: int) -> list[Moment]:
        here = self.directory / str(ranks)
        if not here.exists():
            here.mkdir()
            words = ["trace", here, STEPS, *LAYOUTS.values()]
            self.mpirun("kill_steps", ranks, words, of_ranks={"LD_PRELOAD": self.injector}, env=YIELD)
        return list(moments(here / f"{list(LAYOUTS).index(layout)}.{int(again)}.{victim}"))


@pytest.fixture(scope="module")
def traces(mpirun: Mpirun, injector: Path, tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return Traces(mpirun, injector, tmp_path_factory.mktemp("traces"))


@dataclass
class Killed:
    """A stream under one layout, whose runs are killed and go on."""

    layout: str
    directory: Path
    ranks: int  # of the last run
    steps: int = 0

    def kill(self, traces: Traces, victim: int, moment: Moment, delay_us: int) -> str:
        """Returns the state in which the victim was."""
        if self.steps > 0:
            (self.directory / "history.parts" / ".pending-left" / "of-a-step").mkdir(parents=True)
        with tempfile.TemporaryDirectory() as told:
            trace = Path(told) / "trace"
            when = [moment.stage, moment.call, moment.number, moment.how, delay_us]
            words = [self.directory, LAYOUTS[self.layout], STEPS, trace, victim, *when]
            of_ranks = {"LD_PRELOAD": traces.injector}
            env = {"ANSWERS": told, **YIELD}
            traces.mpirun("kill_steps", self.ranks, ["kill", *words], of_ranks=of_ranks, env=env, check=False)
            answers = answers_in(Path(told), self.ranks)
            state = state_at_end(trace)
        steps = [[answer for answer in of_rank if answer["call"] == "end_step"] for of_rank in answers]
        assert {answer["status"] for of_rank in answers for answer in of_rank if answer["call"] != "start"} <= {"OK"}
        self.steps = check_after_kill(self.layout, self.directory, max(map(len, steps)), self.steps)
        return state

    def go_on(self, mpirun: Mpirun, ranks: int, repaired: bool) -> None:
        if repaired and (self.directory / "history.parts" / "journal.jsonl").exists():
            assert tailrace.repair(self.directory, "history")["ok"]
            assert tailrace.verify(self.directory, "history", deep=True)["problems"] == []
            if self.layout not in OF_ONE_STEP:
                check_times_of_parts(self.directory)
        self.ranks = ranks
        mpirun("kill_steps", ranks, ["run", self.directory, LAYOUTS[self.layout], 2], env=YIELD)
        self.steps += 2
        check_whole(self.directory, self.steps, self.layout)


def kill_many(
    mpirun: Mpirun,
    traces: Traces,
    directory: Path,
    layouts: list[str],
    kills: int,
    histogram: Histogram,
    rng: random.Random,
    to_all: bool = False,
) -> set[str]:
    """With `to_all` some more kills, where a state that was not met can be met. Returns the states that these layouts have."""
    streams = {layout: Killed(layout, directory / layout.replace(":", ""), rng.randint(1, 4)) for layout in layouts}
    possible: set[str] = set()

    def moments_of(stream: Killed, victim: int) -> list[Moment]:
        return traces.moments(stream.layout, stream.ranks, stream.steps > 0, victim)

    for kill in range(2 * kills):
        some_more = kill >= kills
        unmet = {state for state in possible if histogram.kills[state] == 0}
        if some_more and not (to_all and unmet):
            break
        stream = rng.choice(list(streams.values()))
        victim = rng.choice([0, rng.randrange(stream.ranks)])
        if some_more:
            places = [(stream, victim) for stream in streams.values() for victim in range(stream.ranks)]
            places = [(s, v) for s, v in places if unmet & {moment.state for moment in moments_of(s, v)}]
            stream, victim = rng.choice(places or [(stream, victim)])
        found = moments_of(stream, victim)
        possible |= {moment.state for moment in found}
        moment = histogram.draw(found, rng)
        delay_us = 0 if some_more or moment.how == "half" else rng.choice([0, 0, 0, rng.randrange(1, 3000)])
        repaired = rng.random() < 0.5
        # A part that several ranks write goes on with as many.
        ranks = stream.ranks if stream.layout in IS_DATASET else rng.randint(1, 4)
        what = f"{stream.layout}: {moment}, {delay_us} us later"
        print(f"{what}, rank {victim} of {stream.ranks}, {stream.steps} steps before", end=" ")
        state = stream.kill(traces, victim, moment, delay_us)
        print(f"-> {state}, {stream.steps} steps; {'repaired; ' if repaired else ''}goes on with {ranks}")
        histogram.kills[state] += 1
        stream.go_on(mpirun, ranks, repaired)
    return possible


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", range(4))
def test_killed_rank(
    mpirun: Mpirun, traces: Traces, tmp_path: Path, part: int, rng: random.Random, record_property: Callable[..., None]
) -> None:
    """Five kills each, of any rank at any moment under any layout. The seed is in the header of the test run."""
    histogram = Histogram(Counter())
    kill_many(mpirun, traces, tmp_path, list(LAYOUTS), 5, histogram, rng)
    record_property("kills", dict(histogram.kills))


@pytest.mark.full
@pytest.mark.parametrize("preset", PRESETS)
def test_killed_rank_in_every_state(
    mpirun: Mpirun, traces: Traces, tmp_path: Path, preset: str, rng: random.Random, record_property: Callable[..., None]
) -> None:
    """Together more than 200 kills, and no state is empty."""
    histogram = Histogram(Counter())
    layouts = [layout for layout in LAYOUTS if layout.split("-")[0] == preset]
    possible = kill_many(mpirun, traces, tmp_path, layouts, 30, histogram, rng, to_all=True)
    record_property("kills", dict(histogram.kills))
    print(histogram.text())
    assert possible == set(STATES)
    assert [state for state in STATES if histogram.kills[state] == 0] == []


# ---- a run that is stopped ------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", IS_DATASET)
def test_dataset_opens_at_every_moment(mpirun: Mpirun, tmp_path: Path, layout: str, rng: random.Random) -> None:
    """The ranks are stopped again and again, and stock HDF5 opens what is there: never a step that is not committed, never fewer
    than before. The file grows several times, and is cut to its steps in the end."""
    opened = seen = steps = 0
    while opened <= 10:  # on a busy machine the ranks go on for longer between two looks
        assert steps < 1500, "the file was hardly ever opened while it grew"
        writer = Writer.start(mpirun, tmp_path, LAYOUTS[layout], 300)
        steps += 300
        try:
            pids = writer.pids()
            while writer.process.poll() is None:
                time.sleep(rng.uniform(0, 0.004))  # the moment is the random case here
                with stopped(pids):
                    if (tmp_path / "history.nc").exists():
                        committed = len(committed_steps(tmp_path))
                        seen = max(seen, check_shown(tmp_path / "history.nc", committed, from_step=max(seen - 2, 0)))
                        opened += 1
        finally:
            writer.end()
        assert writer.process.returncode == 0
    check_whole(tmp_path, steps)


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
