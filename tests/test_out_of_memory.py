"""A rank whose requests for memory fail: all ranks are told, or the job ends. Nobody waits, and what was committed is there."""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environment import ROOT
from tests.error_run import YIELD, answers_in, committed_steps
from tests.kill_values import LAYOUTS, check_whole
from tests.mpirun import Finished, Mpirun

pytestmark = pytest.mark.both_mpis(1)

RANKS = 2
TRIES = 10  # of the requests of a run, so many fail, one in each run
CRASHES = ("signal 11", "signal: 11", "Segmentation", "SIGSEGV", "corrupted", "double free")
APPENDED = ["open", "end_step", "close"]


@pytest.fixture(scope="session")
def allocator(tmp_path_factory: pytest.TempPathFactory, needs: Any) -> Path:
    """tests/faults/allocate.cpp, to be preloaded into the ranks."""
    needs("g++")
    library = tmp_path_factory.mktemp("faults") / "allocate.so"
    source = ROOT / "tests" / "faults" / "allocate.cpp"
    flags = ["-std=c++20", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


class Runs:
    """Runs of fault_steps in which chosen requests fail."""

    def __init__(self, mpirun: Mpirun, allocator: Path, directory: Path, options: str, rank: int) -> None:
        self.mpirun, self.allocator, self.directory = mpirun, allocator, directory
        self.options, self.rank = options, rank

    def job(self, numbers: list[int], **env: object) -> tuple[Finished, dict[int, list[list[dict[str, Any]]]]]:
        """Until one ends the job. The answers by number, then by rank."""
        with tempfile.TemporaryDirectory() as told:
            finished = self.mpirun(
                "fault_steps",
                RANKS,
                ["new", self.directory, self.options, self.rank, ",".join(map(str, numbers))],
                of_ranks={"LD_PRELOAD": self.allocator, **env},
                env={"ANSWERS": told, **YIELD},
                check=False,
            )
            of_ranks = answers_in(Path(told), RANKS)
        return finished, {n: [[a for a in of_rank if a["n"] == n] for of_rank in of_ranks] for n in numbers}

    def count(self) -> int:
        with tempfile.NamedTemporaryFile() as counted:
            finished, _ = self.job([1 << 30], COUNT_ALLOCATIONS=counted.name)
            assert finished.returncode == 0, finished.output
            return max(map(int, Path(counted.name).read_text().split()))

    def check_told(self, number: int, of_ranks: list[list[dict[str, Any]]]) -> None:
        """The ranks were told alike, each step that went well is there, and so is one of a run without faults."""
        calls = [[(a["call"], a["status"]) for a in of_rank if a["call"] != "fault"] for of_rank in of_ranks]
        assert all(of_rank == calls[0] for of_rank in calls), of_ranks
        assert calls[0][-3:] == [(call, "OK") for call in APPENDED], of_ranks
        check_whole(self.directory / str(number), sum(call == ("end_step", "OK") for call in calls[0]), f"{number}: {of_ranks}")

    def check_ended(self, number: int, of_ranks: list[list[dict[str, Any]]], finished: Finished) -> None:
        """What was committed is there when a later run goes on."""
        assert not any(crash in finished.stderr for crash in CRASHES), f"{number}: {finished.output}"
        here = self.directory / str(number)
        told = sum((a["call"], a["status"]) == ("end_step", "OK") for a in of_ranks[0])
        committed = len(committed_steps(here)) if (here / "history.parts" / "journal.jsonl").exists() else 0
        assert told <= committed <= told + 1, f"{number}: {of_ranks}\n{finished.output}"
        self.mpirun("kill_steps", RANKS, ["run", here, self.options, 1])
        check_whole(here, committed + 1, str(number))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_rank_has_no_memory(
    mpirun: Mpirun, allocator: Path, in_memory: Path, layout: str, rank: int, rng: random.Random
) -> None:
    runs = Runs(mpirun, allocator, in_memory, LAYOUTS[layout], rank)
    left = sorted(rng.sample(range(1, runs.count() + 1), TRIES))
    while left:
        finished, answers = runs.job(left)
        ended = finished.returncode != 0
        whole = [n for n in left if all(any(a["call"] == "append" for a in of_rank) for of_rank in answers[n])]
        for number in whole:
            runs.check_told(number, answers[number])
        left = left[len(whole) :]
        if ended:
            assert left, f"the job ended in a run without faults\n{finished.output}"
            runs.check_ended(left[0], answers[left[0]], finished)
            left = left[1:]
        else:
            assert not left or not (in_memory / str(left[0])).exists(), finished.output
            return
