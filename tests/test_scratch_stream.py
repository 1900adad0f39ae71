"""Streams with stage = scratch: parts go through scratch, and a step is committed when all of them are at the target."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tailrace

from tests.drain_states import STATES
from tests.kill_values import check_values, check_whole, problems
from tests.mpirun import Mpirun
from tests.scratch_run import ScratchRun, messages, statuses, until

HOLD = "n=0; while [ ! -e {go} ] && [ $n -lt 20000 ]; do n=$((n + 1)); sleep 0.01; done"


@pytest.fixture(scope="session")
def drain_faults(preloaded: Callable[[str], Path]) -> Path:
    return preloaded("faults/drain")


@pytest.fixture
def run(mpirun: Mpirun, tailrace_command: list[str], drain_faults: Path, tmp_path: Path) -> ScratchRun:
    return ScratchRun(mpirun, tailrace_command, drain_faults, tmp_path)


def hold(run: ScratchRun, state: str = "found") -> dict[str, str]:
    """The drain of each rank waits at its first part until the file `go` is there."""
    return {"STATE": f"{state} 1", "COMMAND": HOLD.format(go=run.top / "go")}


@pytest.mark.parametrize(
    "more", ["", "steps = 2", "files = 'one'", "files = 'per-node'\ntree = 8", "durability = 'step'", "keep = 99"]
)
def test_parts_arrive_and_scratch_is_free_again(run: ScratchRun, more: str) -> None:
    for already in (0, 3):
        told, stderr = run.run(3, more)
        assert statuses(told, "close") == statuses(told, "end_step") == {"OK"}, stderr
        check_whole(run.directory, already + 3)
        assert sorted(path.name for path in (run.top / "scratch").rglob("*")) == ["n0", "n1"]
        assert not [path for path in (run.directory / "history.parts").iterdir() if path.name.startswith(".")]
    assert run.kinds().count("staged") == 6


def test_a_step_is_staged_until_its_parts_are_at_the_target(run: ScratchRun) -> None:
    process, answers = run.start(3, faults=hold(run))
    journal = run.directory / "history.parts" / "journal.jsonl"
    until(lambda: journal.exists() and run.kinds().count("staged") == 3)
    assert run.staged() == [0, 1, 2]
    listed = run.call("ls", run.directory).stdout
    assert listed.count("staged") >= 3
    assert not (run.directory / "history.nc").exists()
    assert tailrace.verify(run.directory, "history")["steps"] == 0
    with pytest.raises(tailrace.NotFound):
        tailrace.open_read(run.directory, "history")
    (run.top / "go").touch()
    told, stderr = run.end(process, answers)
    assert statuses(told, "close") == {"OK"}, stderr
    assert run.staged() == []
    check_whole(run.directory, 3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("more", ["", "steps = 2"])
@pytest.mark.parametrize("state", STATES)
def test_a_rank_that_is_killed_in_any_state_of_its_drain_loses_no_staged_step(run: ScratchRun, state: str, more: str) -> None:
    run.run(4, more, {"STATE_n1": f"{state} 1", "FIRED_n1": str(run.top / "fired")})
    assert (run.top / "fired").exists()
    staged = run.kinds().count("staged") if (run.directory / "history.parts" / "journal.jsonl").exists() else 0
    assert staged >= 1, "a part is handed over after its step is staged"
    committed = run.committed()
    if committed:
        check_values(run.directory, committed)
    run.resume()
    run.call("index", run.directory, "-s", "history")
    assert run.committed() == staged
    check_values(run.directory, staged)
    assert problems(run.directory) == []
    told, stderr = run.run(2, more)
    assert statuses(told, "close") == {"OK"}, stderr
    check_whole(run.directory, staged + 2)


def test_the_next_opening_commits_what_has_arrived(run: ScratchRun) -> None:
    run.run(3, faults={"STATE": "compared 1"})
    run.resume()
    staged = run.kinds().count("staged")
    told, stderr = run.run(1)
    assert statuses(told, "close") == {"OK"}, stderr
    check_whole(run.directory, staged + 1)


@pytest.fixture
def with_a_lost_node(run: ScratchRun) -> ScratchRun:
    """Both ranks were killed before a part left scratch; that of n0 is delivered, and n1 is gone."""
    run.run(3, faults={"STATE": "held 1"})
    assert run.committed() == 0
    assert run.kinds().count("staged") >= 1
    lost = run.top / "scratch" / "n1"
    lost.rename(run.top / "lost")
    lost.mkdir(mode=0o700)
    run.resume()
    return run


def test_nothing_is_appended_behind_steps_of_a_lost_node(with_a_lost_node: ScratchRun) -> None:
    run = with_a_lost_node
    told, _ = run.run(2)
    assert statuses(told, "open") == {"NOT_FOUND"}
    (message,) = messages(told, "open")
    assert "part 1 (node " in message
    assert "scratch/n1/tailrace-" in message
    assert "tailrace drain resume" in message
    assert f"tailrace rewind {run.directory} -s history --steps" in message
    assert run.staged()[0] == 0
    assert "part 1" in run.call("ls", run.directory).stdout.replace("\n", " ")
    # Nothing was changed: what comes back late can still be delivered and committed.
    shutil.rmtree(run.top / "scratch" / "n1")
    (run.top / "lost").rename(run.top / "scratch" / "n1")
    run.resume()
    told, stderr = run.run(2)
    assert statuses(told, "close") == {"OK"}, stderr
    check_whole(run.directory, run.committed())


@pytest.mark.parametrize("how", ["rewind", "resume", "replace"])
def test_lost_steps_are_left_behind_on_request(with_a_lost_node: ScratchRun, how: str) -> None:
    """And what the lost node delivers later does not touch the steps of the new run."""
    run = with_a_lost_node
    if how == "rewind":
        run.call("rewind", run.directory, "-s", "history", "--steps", len(run.staged()))
        assert run.staged() == []
    more = {"rewind": "", "resume": "mode = 'resume'\nresume_before = 0", "replace": "mode = 'replace'"}[how]
    told, stderr = run.run(2, more)
    assert statuses(told, "close") == {"OK"}, stderr
    check_whole(run.directory, 2)
    shutil.rmtree(run.top / "scratch" / "n1")
    (run.top / "lost").rename(run.top / "scratch" / "n1")
    run.resume()
    check_values(run.directory, 2)
    told, stderr = run.run(1)
    assert statuses(told, "close") == {"OK"}, stderr
    check_whole(run.directory, 3)


def test_resume_behind_a_staged_step_is_refused_on_all_ranks(with_a_lost_node: ScratchRun) -> None:
    told, _ = with_a_lost_node.run(1, "mode = 'resume'\nresume_before = 1")
    assert statuses(told, "end_step") == {"NOT_FOUND"}
    (message,) = messages(told, "end_step")
    assert "step 0 at time 0 is staged" in message


def test_a_damaged_copy_is_never_committed(with_a_lost_node: ScratchRun) -> None:
    run = with_a_lost_node
    shutil.rmtree(run.top / "scratch" / "n1")
    (run.top / "lost").rename(run.top / "scratch" / "n1")
    (part,) = run.top.glob("scratch/n1/tailrace-*/history.parts/000000/*.nc")
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    run.resume()
    told, _ = run.run(1)
    assert statuses(told, "open") == {"NOT_FOUND"}
    assert run.committed() == 0
    assert run.staged()[0] == 0


def test_a_full_target_keeps_everything_and_says_where(run: ScratchRun, small_device: Path) -> None:
    run.directory = small_device / "out"
    filler = small_device / "filler"
    full = f"head -c 4000000 /dev/zero > {filler} 2>/dev/null || true"
    told, _ = run.run(1, faults={"STATE": "held 1", "COMMAND": full})
    assert statuses(told, "end_step") == {"OK"}
    assert statuses(told, "close") == {"NO_SPACE"}
    (message,) = messages(told, "close")
    assert "but on scratch of node " in message
    assert "tailrace drain resume" in message
    assert run.committed() == 0
    filler.unlink()
    run.resume()
    run.call("index", run.directory, "-s", "history")
    assert run.committed() == 1
    check_values(run.directory, 1)


def test_what_does_not_fit_on_scratch_is_written_at_the_target(run: ScratchRun) -> None:
    told, stderr = run.run(3, "min_free = '100000 TiB'")
    assert statuses(told, "close") == {"OK"}, stderr
    check_whole(run.directory, 3)
    assert "6 parts were written at their target, because scratch had less than min_free" in stderr


def test_a_scratch_that_becomes_full_is_left_out(run: ScratchRun, small_device: Path) -> None:
    """The drain waits, so that parts stay on the scratch of one node until it has no room for a further one."""
    small_device.chmod(0o700)
    (run.top / "scratch" / "n1").rmdir()
    (run.top / "scratch" / "n1").symlink_to(small_device)
    process, answers = run.start(12, "min_free = 0", hold(run))
    journal = run.directory / "history.parts" / "journal.jsonl"
    until(lambda: journal.exists() and run.kinds().count("staged") == 12)
    assert 1 <= len(list(small_device.glob("tailrace-*/history.parts/*/*.nc"))) < 12
    (run.top / "go").touch()
    told, stderr = run.end(process, answers)
    assert statuses(told, "close") == {"OK"}, stderr
    assert "parts were written at their target, because scratch had less than min_free" in stderr
    check_whole(run.directory, 12)


def test_a_rank_without_scratch_makes_the_opening_fail_on_all(run: ScratchRun) -> None:
    shutil.rmtree(run.top / "scratch" / "n1")
    told, _ = run.run(1)
    assert statuses(told, "open") == {"BAD_CONFIG"}
    (message,) = messages(told, "open")
    assert "no such folder: make it on each node" in message
    assert run.folders() == []


def test_plan_says_what_scratch_trades(tailrace_command: list[str]) -> None:
    words = [*tailrace_command, "plan", "scratch", "-n", "4", "--shape", "T:18x36:f4"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "A node that is lost before takes its steps with it" in done.stdout.replace("\n", " ")
