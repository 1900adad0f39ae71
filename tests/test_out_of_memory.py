"""A rank whose requests for memory fail: all ranks are told, or the job ends. Nobody waits, and what was committed is there."""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
NEVER = 1 << 30  # no run has so many requests
ENDS = ("no memory left in the middle", "what():  std::bad_alloc")
BY_THEMSELVES = ("writers = 'dedicated:1'", "writers = 'one'")  # how a later run writes that has no ranks to set aside
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


@dataclass
class Runs:
    """Runs of fault_steps in which chosen requests fail."""

    mpirun: Mpirun
    allocator: Path
    directory: Path
    options: str
    rank: int
    what: str = "new"
    ranks: int = RANKS
    writes_later: bool = False  # steps that were acknowledged may be lost where a failure is told

    def job(self, numbers: list[int], **env: object) -> tuple[Finished, dict[int, list[list[dict[str, Any]]]]]:
        """Until one ends the job. The answers by number, then by rank of those that compute."""
        with tempfile.TemporaryDirectory() as told:
            finished = self.mpirun(
                "fault_steps",
                self.ranks,
                [self.what, self.directory, self.options, self.rank, ",".join(map(str, numbers))],
                of_ranks={"LD_PRELOAD": self.allocator, **env},
                env={"ANSWERS": told, **YIELD},
                check=False,
            )
            of_ranks = answers_in(Path(told), self.ranks - (self.what == "aside"))
        assert not any(a["call"] == "unexpected" for of_rank in of_ranks for a in of_rank), of_ranks
        return finished, {n: [[a for a in of_rank if a["n"] == n] for of_rank in of_ranks] for n in numbers}

    def count(self) -> int:
        with tempfile.NamedTemporaryFile() as counted:
            finished, _ = self.job([NEVER], COUNT_ALLOCATIONS=counted.name)
            assert finished.returncode == 0, finished.output
            return max(map(int, Path(counted.name).read_text().split()))

    def check_told(self, number: int, of_ranks: list[list[dict[str, Any]]]) -> None:
        """The ranks were told alike, each step that went well is there, and so is one of a run without faults."""
        calls = [[(a["call"], a["status"]) for a in of_rank if a["call"] != "fault"] for of_rank in of_ranks]
        assert all(of_rank == calls[0] for of_rank in calls), of_ranks
        assert calls[0][-3:] == [(call, "OK") for call in APPENDED], of_ranks
        acknowledged = sum(call == ("end_step", "OK") for call in calls[0])
        committed = acknowledged
        if self.writes_later and any(status != "OK" for _, status in calls[0]):
            committed = len(committed_steps(self.directory / str(number)))
            assert 1 <= committed <= acknowledged, of_ranks
        check_whole(self.directory / str(number), committed, f"{number}: {of_ranks}")

    def check_ended(self, number: int, of_ranks: list[list[dict[str, Any]]], finished: Finished) -> None:
        """What was committed is there when a later run goes on."""
        assert finished.returncode == 0 or any(text in finished.stderr for text in ENDS), finished.output
        here = self.directory / str(number)
        told = sum((a["call"], a["status"]) == ("end_step", "OK") for a in of_ranks[0])
        committed = len(committed_steps(here)) if (here / "history.parts" / "journal.jsonl").exists() else 0
        assert (0 if self.writes_later else told) <= committed <= told + 1, f"{number}: {of_ranks}\n{finished.output}"
        options = self.options.replace(*BY_THEMSELVES)
        self.mpirun("kill_steps", RANKS, ["run", here, options, 1])
        check_whole(here, committed + 1, str(number))

    def check_all(self, left: list[int]) -> None:
        while left:
            finished, answers = self.job(left)
            ended = finished.returncode != 0
            whole = [n for n in left if all(any(a["call"] == "append" for a in of_rank) for of_rank in answers[n])]
            for number in whole:
                self.check_told(number, answers[number])
            left = left[len(whole) :]
            if ended:
                assert left, f"the job ended in a run without faults\n{finished.output}"
                self.check_ended(left[0], answers[left[0]], finished)
                left = left[1:]
            else:
                assert not left or not (self.directory / str(left[0])).exists(), finished.output
                return


def drawn(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(1, count + 1), min(TRIES, count)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_rank_has_no_memory(
    mpirun: Mpirun, allocator: Path, in_memory: Path, layout: str, rank: int, rng: random.Random
) -> None:
    runs = Runs(mpirun, allocator, in_memory, LAYOUTS[layout], rank)
    runs.check_all(drawn(rng, runs.count()))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_while_steps_are_in_flight(mpirun: Mpirun, allocator: Path, in_memory: Path, layout: str, rng: random.Random) -> None:
    options = f"{LAYOUTS[layout]}\noverlap = 2"
    runs = Runs(mpirun, allocator, in_memory, options, rng.randrange(RANKS), writes_later=True)
    runs.check_all(drawn(rng, runs.count()))


@pytest.fixture
def aside(mpirun: Mpirun, allocator: Path, in_memory: Path, steps: str, overlap: int) -> Callable[[int], Runs]:
    """Runs in which one more rank writes for the others, by the rank at which requests fail."""
    options = f"files = 'one'\nsteps = '{steps}'\n{BY_THEMSELVES[0]}\noverlap = {overlap}"
    return lambda rank: Runs(mpirun, allocator, in_memory, options, rank, "aside", RANKS + 1, writes_later=overlap > 0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("overlap", [0, 2])
@pytest.mark.parametrize("steps", ["1", "2", "all"])
def test_where_another_rank_writes(aside: Callable[[int], Runs], rng: random.Random) -> None:
    runs = aside(rng.randrange(RANKS))
    runs.check_all(drawn(rng, runs.count()))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("overlap", [0, 2])
@pytest.mark.parametrize("steps", ["1", "2", "all"])
def test_a_rank_that_writes_for_others(aside: Callable[[int], Runs], rng: random.Random) -> None:
    runs = aside(RANKS)
    for number in drawn(rng, runs.count()):
        finished, answers = runs.job([number])
        first, second = ([(a["call"], a["status"]) for a in of_rank] for of_rank in answers[number])
        if finished.returncode == 0:
            assert first == second
            assert first[-1][0] == "release"
        runs.check_ended(number, answers[number], finished)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_while_it_reads(mpirun: Mpirun, allocator: Path, in_memory: Path, layout: str, rng: random.Random) -> None:
    """The program compares what it has read; the second time it must go well."""
    runs = Runs(mpirun, allocator, in_memory, LAYOUTS[layout] + "\nmode = 'replace'", rng.randrange(RANKS), "read-new")
    left = drawn(rng, runs.count())
    while left:
        finished, answers = runs.job(left)
        read = [n for n in left if all(any(a["call"] == "close_read" for a in of_rank) for of_rank in answers[n])]
        check_whole(in_memory, 3, str(read))
        left = left[len(read) :]
        if finished.returncode != 0:
            assert any(text in finished.stderr for text in ENDS), finished.output
            left = left[1:]
        else:
            assert not left, finished.output
