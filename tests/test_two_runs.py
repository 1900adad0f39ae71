"""Two and more runs that write one stream: each step is there once, or its writer got an error."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import until
from tests.environment import is_running
from tests.error_run import YIELD
from tests.journal import journal_lines
from tests.kill_values import LAYOUTS as KILL_LAYOUTS
from tests.kill_values import check_whole, problems
from tests.mpirun import Mpirun
from tests.test_kill import Writer
from tests.two_runs import LAYOUTS, Process, check_all_is_there, shown

LOCKS = ("there", "refused", "node")
CASES = 200


@pytest.fixture(scope="module")
def two_runs(preloaded: Callable[[str], Path]) -> Path:
    """tests/faults/two_runs.c, to be preloaded."""
    return preloaded("faults/two_runs")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(CASES))
def test_interleavings(two_runs: Path, tmp_path: Path, rng: random.Random, number: int) -> None:
    """Runs that stop before any call, go on or die there, while others begin."""
    layout = rng.choice(list(LAYOUTS))
    locks = LOCKS[number % len(LOCKS)]
    context = f"{layout}, locks {locks}"
    print(context)
    folder = tmp_path / "out"
    folder.mkdir()
    options = LAYOUTS[layout]
    processes: list[Process] = []
    for k in range(rng.choice((2, 2, 3))):
        of_process: dict[str, Any] = {"take_over": True} if k > 0 else {}
        if k > 0 and rng.random() < 0.1:
            of_process["mode"] = "append"
        stop = rng.choice((0, rng.randint(1, 260), rng.randint(1, 260))) if k < 2 else 0
        where = f"node:{k + 1}" if locks == "node" else locks
        process = Process.start(folder, two_runs, {**options, **of_process}, locks=where, stop=stop, pause_s=rng.choice((0, 0.01)))
        processes.append(process)
        print(f"  run {k}: stops before call {stop}")
        if stop > 0:
            process.wait_until_stopped_or_ended()
            if rng.random() < 0.2:
                process.send(signal.SIGKILL)
        else:
            time.sleep(rng.uniform(0, 1.2))  # the moment is the random case here
        for earlier in processes[:-1]:
            if rng.random() < 0.3:
                earlier.send(signal.SIGCONT)
    while any(process.is_stopped() for process in processes):
        process = rng.choice([process for process in processes if process.is_stopped()])
        process.send(signal.SIGCONT)
        time.sleep(rng.uniform(0, 0.2))
    for process in processes:
        process.end()
    check_all_is_there(folder, two_runs, options, processes, context)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stop", range(20, 140))
@pytest.mark.parametrize("layout", ["single-3", "fpp-all"])
def test_a_run_stops_before_its_part_shows_a_step(two_runs: Path, tmp_path: Path, layout: str, stop: int) -> None:
    """An index over the part as it is then would show values that no run has written: the next run copies the part."""
    folder = tmp_path / "out"
    folder.mkdir()
    options = LAYOUTS[layout]
    first = Process.start(folder, two_runs, options, locks="refused", stop=stop)
    first.wait_until_stopped_or_ended()
    second = Process.start(folder, two_runs, {**options, "take_over": True}, locks="refused")
    second.end()
    assert second.error() is None
    assert set(second.written()) <= set(shown(folder)), "readers see it while the first run stands still"
    first.send(signal.SIGCONT)
    first.end()
    check_all_is_there(folder, two_runs, options, [first, second], f"stopped before call {stop}")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("look", [2, 3, 4, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_stops_between_its_line_and_the_look(two_runs: Path, tmp_path: Path, layout: str, look: int) -> None:
    """The next run counts the step, and its writer gets an error all the same: then it must leave its files as they are."""
    folder = tmp_path / "out"
    folder.mkdir()
    first = Process.start(folder, two_runs, LAYOUTS[layout], stop=look, only="/h.parts")
    first.wait_until_stopped_or_ended()
    assert first.is_stopped()
    second = Process.start(folder, two_runs, {**LAYOUTS[layout], "take_over": True})
    second.end()
    first.send(signal.SIGCONT)
    first.end()
    assert (error := first.error()) is not None
    assert error["status"] == "Overtaken"
    assert f"(process {second.process.pid}, since" in error["text"]
    check_all_is_there(folder, two_runs, LAYOUTS[layout], [first, second], layout)


@pytest.mark.parametrize("locks", LOCKS)
def test_a_run_that_was_killed_is_followed(two_runs: Path, tmp_path: Path, locks: str) -> None:
    """Where locks tell that it is dead, at once; else its heartbeat must be two minutes old."""
    folder = tmp_path / "out"
    folder.mkdir()
    options = LAYOUTS["single-all"]
    of_node = [f"node:{k}" if locks == "node" else locks for k in (1, 2)]
    first = Process.start(folder, two_runs, options, locks=of_node[0], pause_s=0.01, steps=1000)
    while not (folder / "h.nc").exists():
        time.sleep(0.01)
    first.send(signal.SIGKILL)
    first.end()
    second = Process.start(folder, two_runs, options, locks=of_node[1])
    second.end()
    if locks == "there":
        assert second.error() is None
    else:
        assert (error := second.error()) is not None
        assert error["status"] == "InUse"
        assert f"(process {first.process.pid}, since " in error["text"]
        assert "--take-over" in error["text"]
        then = time.time() - 125
        os.utime(folder / "h.parts" / "writer.json", (then, then))
        third = Process.start(folder, two_runs, options, locks=of_node[1])
        third.end()
        assert third.error() is None
        assert sorted(path.name for path in (folder / "h.parts").glob("*.nc")) == ["000000-1.nc"], "it writes into a copy"
    check_all_is_there(folder, two_runs, options, [first], locks)


@pytest.mark.fast
def test_where_locks_are_refused_two_runs_do_not_mix(two_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    options = LAYOUTS["single-all"]
    first = Process.start(folder, two_runs, options, locks="refused", pause_s=0.2)
    while not (folder / "h.parts" / "writer.json").exists():
        time.sleep(0.01)
    first.send(signal.SIGSTOP)  # so that it has not ended when the second one starts
    second = Process.start(folder, two_runs, options, locks="refused")
    second.end()
    first.send(signal.SIGCONT)
    first.end()
    assert (error := second.error()) is not None
    assert error["status"] == "InUse"
    assert first.error() is None
    check_all_is_there(folder, two_runs, options, [first, second], "refused")


# ---- mpirun ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def killed_writers() -> Iterator[list[Writer]]:
    writers: list[Writer] = []
    yield writers
    for writer in writers:
        if writer.process.returncode is None:
            writer.end()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(10))
def test_mpirun_is_killed_and_started_again(
    mpirun: Mpirun, tmp_path: Path, rng: random.Random, killed_writers: list[Writer], number: int
) -> None:
    """Five times at once: the ranks of the killed run live on for a while, and may still write."""
    layout = list(KILL_LAYOUTS)[(7 * number + rng.randrange(len(KILL_LAYOUTS))) % len(KILL_LAYOUTS)]
    print(layout)
    pids: list[int] = []
    for _ in range(5):
        writer = Writer.start(mpirun, tmp_path, KILL_LAYOUTS[layout], 100_000)
        killed_writers.append(writer)
        pids += writer.pids()
        time.sleep(rng.uniform(0.05, 0.6))  # the moment is the random case here
        writer.process.send_signal(signal.SIGKILL)  # mpirun alone
    mpirun("kill_steps", 2, ["run", tmp_path, KILL_LAYOUTS[layout], 2], env=YIELD)
    # Ranks that have lived longer than that run may have gone on behind it.
    until(lambda: not any(map(is_running, pids)))
    mpirun("kill_steps", 2, ["run", tmp_path, KILL_LAYOUTS[layout], 2], env=YIELD)
    told = 0
    for writer in killed_writers:
        writer.end()
        steps = [[answer for answer in of_rank if answer["call"] == "end_step"] for of_rank in writer.told]
        told += max(len([answer for answer in of_rank if answer["status"] == "OK"]) for of_rank in steps)
    lines = journal_lines(tmp_path / "history.parts" / "journal.jsonl")
    times = [line["time"] for line in lines if line["kind"] == "step"]
    assert times == list(range(len(times)))
    assert len(times) >= told + 4, "a step that was acknowledged is gone"
    assert problems(tmp_path) == []
    check_whole(tmp_path, len(times), layout)
