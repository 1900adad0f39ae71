"""Runs of tests/mpi/error_case.cpp, and what is on storage afterwards."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from tests.journal import journal_lines
from tests.mpirun import Mpirun

COLUMNS, ROWS_OF_A_RANK = 4, 2
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}  # waiting ranks leave the cores to others: ten times faster on a busy machine

# What the last rank of two defines differently, and what the message says of it.
DIFFERENCES = {
    "length-differs": r"dimension 'y' is of length \d on rank 0, of length \d on rank 1",
    "variable-differs": r"variable 'Q' \(f4 \['y', 'x'\]\) is on rank 1 and not on rank 0",
    "attribute-differs": r"attribute 'units' of variable 'T' is 'degC' on rank 0, 'K' on rank 1",
}


@dataclass(frozen=True)
class Call:
    rank: int
    call: str
    status: str
    message: str


@dataclass(frozen=True)
class Calls:
    """What each rank had as an answer, in its order."""

    all: tuple[Call, ...]
    output: str

    def of(self, name: str) -> dict[int, Call]:
        """The last call of a name on each rank."""
        return {call.rank: call for call in self.all if call.call == name}

    def outcome(self, name: str) -> tuple[str, str]:
        """The status and message of a collective call: the same on all ranks that made it."""
        outcomes = {(call.status, call.message) for call in self.of(name).values()}
        assert len(outcomes) == 1, f"ranks do not agree about {name}: {outcomes}\n{self.output}"
        return outcomes.pop()


@dataclass(frozen=True)
class Run:
    """A case of error_case.cpp under some options, after `before`: another case with its options in the same directory."""

    case: str
    options: str
    ranks: int = 2
    before: tuple[str, str] | None = None


@dataclass
class Runner:
    """Runs cases, all of a rank count in one mpirun when the first of them is asked for."""

    mpirun: Mpirun
    directory: Path
    declared: Sequence[Run] = ()
    done: dict[Run, tuple[Path, Calls]] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)

    def __call__(self, run: Run) -> tuple[Path, Calls]:
        if run.ranks not in self.tried:
            self.tried.add(run.ranks)
            self.batch([other for other in self.declared if other.ranks == run.ranks])
        if run not in self.done:
            pytest.fail(f"{run}: its mpirun did not end well; see the first failure of {run.ranks} ranks", pytrace=False)
        return self.done[run]

    def batch(self, runs: Sequence[Run]) -> None:
        triples: list[tuple[Path, str, str]] = []
        number_of: dict[Run, int] = {}
        for run in runs:
            directory = self.directory / f"{run.ranks}-{len(triples)}"
            if run.before:
                triples.append((directory, run.before[1], run.before[0]))
            number_of[run] = len(triples)
            triples.append((directory, run.options, run.case))
        calls = run_triples(self.mpirun, runs[0].ranks, triples)
        self.done.update({run: (triples[number][0], calls[number]) for run, number in number_of.items()})


def run_case(
    mpirun: Mpirun,
    ranks: int,
    directory: Path | str,
    options: str,
    case: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Calls:
    return run_triples(mpirun, ranks, [(Path(directory), options, case)], env, cwd)[0]


def run_triples(
    mpirun: Mpirun,
    ranks: int,
    triples: Sequence[tuple[Path, str, str]],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> list[Calls]:
    words = [word for triple in triples for word in triple]
    with tempfile.TemporaryDirectory() as answers:
        finished = mpirun("error_case", ranks, words, env={"ANSWERS": answers, **YIELD, **(env or {})}, cwd=cwd)
        told = [answer for of_rank in answers_in(Path(answers), ranks) for answer in of_rank]
    calls: list[list[Call]] = [[] for _ in triples]
    for answer in told:
        assert answer["call"] != "unexpected", answer
        calls[answer.pop("run")].append(Call(**answer))
    return [Calls(tuple(of_run), "\n".join(map(str, of_run)) + finished.stderr) for of_run in calls]


def answers_in(directory: Path, ranks: int) -> list[list[dict[str, Any]]]:
    """What each rank told into its file; a last line may be cut by a kill."""
    answers = []
    for rank in range(ranks):
        file = directory / str(rank)
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        answers.append([json.loads(line) for line in lines if line.endswith("}\n")])
    return answers


def committed_steps(directory: Path, name: str = "history") -> list[float]:
    """The times of the steps in the journal, by their lines alone."""
    lines = journal_lines(directory / f"{name}.parts" / "journal.jsonl")
    return [line["time"] for line in lines if line["kind"] == "step"]


def check_rows(directory: Path, ranks: int, times: list[float]) -> None:
    """Exactly the steps of these times are there, and every value of them is right."""
    assert committed_steps(directory) == times
    rows = ROWS_OF_A_RANK * ranks
    with netCDF4.Dataset(directory / "history.nc") as dataset:
        dataset.set_auto_mask(False)
        np.testing.assert_array_equal(dataset["time"][:], times)
        np.testing.assert_array_equal(dataset["mass"][:], 0.5 * np.asarray(times))
        expected = 1000 * np.asarray(times)[:, None, None] + np.arange(rows * COLUMNS).reshape(rows, COLUMNS)
        np.testing.assert_array_equal(dataset["T"][:], expected)
