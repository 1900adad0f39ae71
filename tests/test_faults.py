"""Calls that fail and devices that are full: the same error on all ranks, nothing lost, and the stream goes on."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

from tests.error_run import YIELD, answers_in
from tests.kill_values import IS_DATASET, LAYOUTS, check_whole, intact_lines, pending, problems
from tests.mpirun import Mpirun

pytestmark = pytest.mark.both_mpis(3)

COMPRESSED = [name for name in LAYOUTS if name.endswith("-deflate")]

# What a call on a file may fail with, and what the caller is told.
STATUS_OF = {
    errno.EIO: "IO_FAILED",
    errno.ENOSPC: "NO_SPACE",
    errno.EDQUOT: "NO_SPACE",
    errno.EROFS: "IO_FAILED",
    errno.ENOENT: "NOT_FOUND",
}
STATUS_OF_MEMORY = {errno.ENOMEM: "NO_MEMORY", errno.EMFILE: "NO_MEMORY"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", COMPRESSED)
def test_what_is_to_be_compressed_is(mpirun: Mpirun, tmp_path: Path, layout: str) -> None:
    mpirun("kill_steps", 2, ["run", tmp_path, LAYOUTS[layout], 1])
    parts = [tmp_path / "history.nc"] if layout in IS_DATASET else [*(tmp_path / "history.parts").rglob("*.nc")]
    for part in parts:
        with h5py.File(part) as file:
            assert file["T"].compression == "gzip", part


# ---- a call fails ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory in memory, where there is one: thousands of files are synchronised here, and what fails is not the device."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


def in_turn(shift: int) -> str:
    """The errors that the calls fail with, beginning with another one."""
    codes = list(STATUS_OF)
    return ",".join(str(code) for code in codes[shift:] + codes[:shift])


def run_faults(
    mpirun: Mpirun, injector: Path, directory: Path, options: str, rank: int, how: str, codes: str, ranks: int = 2
) -> dict[int, list[dict[str, Any]]]:
    """Every fault of a run, by number; the answers of all ranks in their order."""
    with tempfile.TemporaryDirectory() as told:
        mpirun(
            "fault_steps",
            ranks,
            [how, directory, options, rank, codes],
            of_ranks={"LD_PRELOAD": injector},
            env={"ANSWERS": told, **YIELD},
        )
        answers: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for answer in [answer for of_rank in answers_in(Path(told), ranks) for answer in of_rank]:
            assert answer["call"] != "unexpected", answer
            answers[answer["n"]].append(answer)
    return dict(answers)


def told_alike(answers: list[dict[str, Any]], local: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The ranks have the same answers in the same order, but for calls that are local. Returns those of rank 0."""
    per_rank: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for answer in answers:
        if answer["call"] not in ("fault", *local):
            per_rank[answer["rank"]].append(answer)
    told = [[(a["call"], a["status"], a.get("message", "")) for a in of_rank] for of_rank in per_rank.values()]
    assert len(told) >= 2
    assert all(of_rank == told[0] for of_rank in told), answers
    return per_rank[0]


def check_fault(answers: list[dict[str, Any]]) -> tuple[str, bool]:
    """What failed, and whether anybody was told; in the words that belong to the error."""
    fault = [a for a in answers if a["call"] == "fault"]
    failed = [a for a in answers if a["call"] != "fault" and a["status"] != "OK"]
    if not fault:
        assert not failed, failed
        return "none", False
    for answer in failed:
        assert answer["status"] == {**STATUS_OF, **STATUS_OF_MEMORY}[fault[0]["code"]], (fault, answer)
        assert os.strerror(fault[0]["code"]) in answer["message"], (fault, answer)
    return f"{fault[0]['status']}: {os.strerror(fault[0]['code'])}", bool(failed)


def check_answers(answers: list[dict[str, Any]]) -> tuple[int, int]:
    """Returns the steps that went well, in that run and in the next."""
    told = told_alike(answers)
    cut = [a["call"] for a in told].index("append")
    parts = told[:cut], told[cut:]
    assert {a["status"] for a in parts[1]} == {"OK"}, f"the run without faults: {parts[1]}"
    before, after = (sum(a["call"] == "end_step" and a["status"] == "OK" for a in part) for part in parts)
    return before, after


def check_results(directory: Path, results: dict[int, list[dict[str, Any]]], expected: int) -> int:
    """All steps are there whatever failed, and one of a run without faults. Returns how many faults were told."""
    failures, fault = 0, ""
    for number, answers in results.items():
        fault, noticed = check_fault(answers)
        context = f"fault {number}: {fault}"
        steps, appended = check_answers(answers)
        assert (steps, appended) == (expected, 1), f"{context}: {answers}"
        failures += noticed
        check_whole(directory / str(number), expected + 1, context)
    assert fault == "none", "the last run of the loop had a fault left"
    return failures


def check_once(
    mpirun: Mpirun, injector: Path, directory: Path, layout: str, rank: int, shift: int, durability: str, how: str = "once"
) -> None:
    options = LAYOUTS[layout] + f"\ndurability = '{durability}'"
    results = run_faults(mpirun, injector, directory, options, rank, how, in_turn(shift))
    failures = check_results(directory, results, 6 if how == "again" else 3)
    writes = rank == 0 or not layout.startswith("single")
    assert failures >= (5 if writes else 0), "hardly any of the faults was noticed"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("durability", ["step", "close"])
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_call_fails_once(
    mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, rank: int, durability: str, rng: random.Random
) -> None:
    """The Nth call on a file fails, for every N: all ranks are told of the failed step, which goes well when written again."""
    check_once(mpirun, injector, in_memory, layout, rank, rng.randrange(len(STATUS_OF)), durability)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_call_fails_once_where_a_run_goes_on(
    mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, rank: int, rng: random.Random
) -> None:
    """The same in the second run of a stream; the third has other blocks."""
    durability = rng.choice(["none", "close", "step"])
    check_once(mpirun, injector, in_memory, layout, rank, rng.randrange(len(STATUS_OF)), durability, "again")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_memory_to_share(mpirun: Mpirun, injector: Path, tmp_path: Path, layout: str, rank: int) -> None:
    """The step is written again, and lacks nothing, also where the blocks change in the middle of a run."""
    codes = ",".join(map(str, STATUS_OF_MEMORY))
    results = run_faults(mpirun, injector, tmp_path, LAYOUTS[layout], rank, "memory", codes)
    failures = check_results(tmp_path, results, 3)
    exchanges = layout.startswith("single") or ("deflate" in layout and not layout.startswith("fpp"))
    assert failures >= (2 if exchanges else 0), "hardly any of the faults was noticed"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("layout", ["single", "collective", "node", "split:2"])
def test_one_node_has_no_memory_to_share(mpirun: Mpirun, injector: Path, tmp_path: Path, layout: str, rank: int) -> None:
    """Two nodes of two ranks, and parts of two ranks: all ranks have the error of those that have none, and nobody waits."""
    options = f"layout = '{layout}'\nranks_per_node = {0 if layout == 'split:2' else 2}"
    codes = ",".join(map(str, STATUS_OF_MEMORY))
    results = run_faults(mpirun, injector, tmp_path, options, rank, "memory", codes, ranks=4)
    assert check_results(tmp_path, results, 3) >= 1


@pytest.mark.full
@pytest.mark.parametrize("shift", range(len(STATUS_OF)))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_call_fails_with_every_error(
    mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, shift: int, rng: random.Random
) -> None:
    check_once(mpirun, injector, in_memory, layout, rng.randrange(2), shift, "step")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_calls_fail_from_then_on(
    mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, rank: int, rng: random.Random
) -> None:
    """A device that goes away: what was acknowledged is there when it comes back."""
    codes = in_turn(rng.randrange(len(STATUS_OF)))
    results = run_faults(mpirun, injector, in_memory, LAYOUTS[layout], rank, "on", codes)
    for number, answers in results.items():
        fault, _ = check_fault(answers)
        steps, appended = check_answers(answers)
        assert appended == 1
        check_whole(in_memory / str(number), steps + 1, f"fault {number}: {fault}: {answers}")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_call_fails_while_reading(
    mpirun: Mpirun, injector: Path, in_memory: Path, layout: str, rank: int, rng: random.Random
) -> None:
    """The Nth call of a rank that reads fails, for every N: an error and never a wrong value; when read again all is right."""
    codes = in_turn(rng.randrange(len(STATUS_OF)))
    results = run_faults(mpirun, injector, in_memory, LAYOUTS[layout], rank, "read", codes)
    results.pop(0)  # the run that writes
    noticed = [check_fault(answers)[1] for answers in results.values()]
    for answers in results.values():
        told_alike(answers, local=("get",))
    assert not noticed[-1], "the last run of the loop had a fault left"
    assert sum(noticed) >= 3, "hardly any of the faults was noticed"


# ---- a directory in trouble -----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind", ["moved", "hidden", "readonly"])
def test_directory_in_trouble(mpirun: Mpirun, in_memory: Path, kind: str, rank: int) -> None:
    """Between two steps the directory goes away, or one rank no longer sees it or may no longer write: all have the same error,
    what was committed stays, nothing is made in its place, and with the directory back the run goes on."""
    with tempfile.TemporaryDirectory() as told:
        words = [kind, rank, in_memory, *LAYOUTS.values()]
        finished = mpirun("place_steps", 2, words, env={"ANSWERS": told, **YIELD}, check=False)
        if finished.returncode == 77:
            pytest.skip("only root may mount")
        assert finished.returncode == 0, finished.output
        answers = [answer for of_rank in answers_in(Path(told), 2) for answer in of_rank]
    for number, layout in enumerate(LAYOUTS):
        mine = told_alike([answer for answer in answers if answer["n"] == number])
        steps = [answer["status"] for answer in mine if answer["call"] == "end_step"]
        context = f"{layout}: {mine}"
        assert steps[:2] + steps[4:] == ["OK"] * 4, context
        assert set(steps[2:4]) <= {"OK", "IO_FAILED" if kind == "readonly" else "NOT_FOUND"}, context
        # Files that are open already stay so: a rank that opens nothing at a step does not notice.
        if rank == 0 or kind == "moved" or (layout.endswith("-1") and not layout.startswith("single")):
            assert "OK" not in steps[2:4], context
        check_whole(in_memory / str(number), steps.count("OK"), context)


# ---- a full device --------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_full_device(mpirun: Mpirun, small_device: Path, layout: str) -> None:
    """Steps until nothing fits, and a few more: the same answer on all ranks; then, with room again, the next run goes on."""
    size_kib, later_kib = (700, 300) if layout in COMPRESSED else (5000, 2000)
    subprocess.run(["mount", "-o", f"remount,size={size_kib}k", small_device], check=True)
    ballast = small_device / "ballast"
    ballast.write_bytes(bytes(1024 * later_kib))
    with tempfile.TemporaryDirectory() as told:
        mpirun("kill_steps", 2, ["run", small_device, LAYOUTS[layout], 100], env={"ANSWERS": told, **YIELD})
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
    mpirun("kill_steps", 2, ["run", small_device, LAYOUTS[layout], 1])
    check_whole(small_device, steps + 1)
