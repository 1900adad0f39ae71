"""Calls that fail and devices that are full: the same error on all ranks, nothing lost, and the stream goes on."""

from __future__ import annotations

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environment import ROOT
from tests.error_run import YIELD, answers_in
from tests.kill_values import LAYOUTS, TIMEOUT_S, check_whole, intact_lines, pending, problems
from tests.mpirun import Mpirun

pytestmark = pytest.mark.both_mpis(3)

# ---- a call fails ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def injector(tmp_path_factory: pytest.TempPathFactory, needs: Callable[..., None]) -> Path:
    needs("gcc")
    library = tmp_path_factory.mktemp("faults") / "inject.so"
    source = ROOT / "tests" / "faults" / "inject.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory in memory, where there is one: thousands of files are synchronised here, and what fails is not the device."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


def run_faults(
    mpirun: Mpirun, injector: Path, directory: Path, options: str, rank: int, how: str
) -> dict[int, list[dict[str, Any]]]:
    """Every fault of a run, by number; the answers of all ranks in their order."""
    with tempfile.TemporaryDirectory() as told:
        mpirun(
            "kill_steps",
            2,
            ["faults", directory, options, rank, how],
            of_ranks={"LD_PRELOAD": injector},
            env={"ANSWERS": told, **YIELD},
            timeout_s=120,
        )
        answers: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for answer in [answer for of_rank in answers_in(Path(told), 2) for answer in of_rank]:
            assert answer["call"] != "unexpected", answer
            answers[answer["n"]].append(answer)
    return dict(answers)


def check_answers(answers: list[dict[str, Any]]) -> tuple[int, int]:
    """The ranks have the same answers in the same order. Returns the steps that went well, in that run and in the next."""
    per_rank = [[a for a in answers if a["rank"] == rank and a["call"] != "fault"] for rank in (0, 1)]
    assert [(a["call"], a["status"], a.get("message", "")) for a in per_rank[0]] == [
        (a["call"], a["status"], a.get("message", "")) for a in per_rank[1]
    ], answers
    cut = [a["call"] for a in per_rank[0]].index("append")
    parts = per_rank[0][:cut], per_rank[0][cut:]
    assert {a["status"] for a in parts[1]} == {"OK"}, f"the run without faults: {parts[1]}"
    before, after = (sum(a["call"] == "end_step" and a["status"] == "OK" for a in part) for part in parts)
    return before, after


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_call_fails_once(mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, rank: int) -> None:
    """The Nth call on a file fails, for every N: all ranks are told of the failed step, which goes well when written again."""
    options = LAYOUTS[layout] + "\ndurability = 'step'"
    results = run_faults(mpirun, injector, in_memory, options, rank, "once")
    failures = 0
    for number, answers in results.items():
        fault = [a["status"] for a in answers if a["call"] == "fault"]
        context = f"fault {number}: {fault}"
        steps, appended = check_answers(answers)
        assert (steps, appended) == (3, 1), f"{context}: {answers}"
        failures += any(a.get("status") == "IO_FAILED" for a in answers)
        check_whole(in_memory / str(number), 4, context)
    assert fault == [], "the last run of the loop had no fault left"
    writes = rank == 0 or not layout.startswith("single")
    assert failures >= (5 if writes else 0), "hardly any of the faults was noticed"


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_calls_fail_from_then_on(mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, rank: int) -> None:
    """A device that goes away: what was acknowledged is there when it comes back."""
    results = run_faults(mpirun, injector, in_memory, LAYOUTS[layout], rank, "on")
    for number, answers in results.items():
        fault = [a["status"] for a in answers if a["call"] == "fault"]
        steps, appended = check_answers(answers)
        assert appended == 1
        check_whole(in_memory / str(number), steps + 1, f"fault {number}: {fault}: {answers}")


# ---- a full device --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_device(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB. Mounting needs root, as CI has."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mounted], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may mount a small file system")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_full_device(mpirun: Mpirun, small_device: Path, layout: str) -> None:
    """Steps until nothing fits, and a few more: the same answer on all ranks; then, with room again, the next run goes on."""
    ballast = small_device / "ballast"
    ballast.write_bytes(b"x" * 300_000)
    with tempfile.TemporaryDirectory() as told:
        mpirun("kill_steps", 2, ["run", small_device, LAYOUTS[layout], 100], env={"ANSWERS": told, **YIELD}, timeout_s=TIMEOUT_S)
        answers = answers_in(Path(told), 2)
    per_rank = [[(a["call"], a["status"], a["message"]) for a in of_rank if a["call"] != "start"] for of_rank in answers]
    assert per_rank[0] == per_rank[1]
    statuses = [status for call, status, _ in per_rank[0] if call == "end_step"]
    assert set(statuses) == {"OK", "NO_SPACE"}
    steps = statuses.count("OK")
    assert steps > 3
    message = next(message for _, status, message in per_rank[0] if status == "NO_SPACE")
    assert "No space left on device; free space or raise the quota" in message
    assert str(small_device) in message
    committed = [line for line in intact_lines(small_device / "history.parts" / "journal.jsonl") if line["kind"] == "step"]
    assert [line["time"] for line in committed] == list(range(steps))
    assert not pending(small_device)
    assert problems(small_device) == []
    ballast.unlink()
    mpirun("kill_steps", 2, ["run", small_device, LAYOUTS[layout], 1], timeout_s=TIMEOUT_S)
    check_whole(small_device, steps + 1)
