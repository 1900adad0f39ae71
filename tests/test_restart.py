"""Reading back on other ranks than wrote: presets x writing ranks x reading ranks x decompositions, every byte compared.

`make test` has a sample of them.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import formula
from tests.matrix import DECOMPOSITIONS, MEMORIES, RANKS, SETS, SMALL, STEPS_PER_FILE
from tests.mpirun import Mpirun
from tests.presets import PRESETS, PRESETS_WITH_SCRATCH

pytestmark = pytest.mark.both_mpis(5, 30)

STEPS = 3


@dataclass(frozen=True)
class Case:
    preset: str
    steps_per_file: str
    writers: int
    written: str  # decomposition
    readers: int
    read: str
    memory: str
    variables: str

    @property
    def label(self) -> str:
        steps = self.steps_per_file.strip("'")
        return f"{self.preset}-{steps}-{self.writers}.{self.written}-{self.readers}.{self.read}-{self.memory}-{self.variables}"


def whole_matrix() -> list[Case]:
    """The writing decomposition, the steps a file, memory and set of variables go round, so that each pairs with everything."""
    kinds = itertools.cycle(itertools.product(STEPS_PER_FILE, DECOMPOSITIONS, MEMORIES, SETS))
    cases = []
    for preset, writers, readers, read in itertools.product(PRESETS, RANKS, RANKS, DECOMPOSITIONS):
        steps, written, memory, variables = next(kinds)
        cases.append(Case(preset, steps, writers, written, readers, read, memory, variables))
    return cases


def write(
    mpirun: Mpirun, folder: Path, ranks: int, options: str, *choices: str, steps: int = STEPS, sizes: formula.Sizes = SMALL
) -> None:
    mpirun("write_case", ranks, [folder, "history", options, f"steps={steps}", sizes.argument, *choices])


def read(mpirun: Mpirun, folder: Path, ranks: int, *choices: str, sizes: formula.Sizes = SMALL) -> str:
    return mpirun("read_case", ranks, [folder, "history", sizes.argument, *choices]).output


@pytest.mark.sampled(9)
@pytest.mark.parametrize("case", whole_matrix(), ids=lambda case: case.label)
def test_reads_what_others_wrote(mpirun: Mpirun, tmp_path: Path, case: Case) -> None:
    options = f"layout = '{case.preset}'\nsteps = {case.steps_per_file}"
    variables = f"set={case.variables}"
    write(mpirun, tmp_path, case.writers, options, variables, f"decomposition={case.written}")
    output = read(mpirun, tmp_path, case.readers, variables, f"decomposition={case.read}", f"memory={case.memory}")
    assert f"{STEPS} steps, " in output


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", ["fpp", "shared"])
@pytest.mark.parametrize("preset", PRESETS_WITH_SCRATCH)
def test_appends_with_another_layout_and_other_ranks(mpirun: Mpirun, tmp_path: Path, preset: str, first: str) -> None:
    """A run goes on where another stopped, with its own layout, ranks and decomposition; all steps are read as one stream."""
    write(mpirun, tmp_path, 3, f"layout = '{first}'", "set=climate", "decomposition=irregular", steps=2)
    write(mpirun, tmp_path, 2, f"layout = '{preset}'", "set=climate", "decomposition=columns", steps=2)
    write(mpirun, tmp_path, 4, f"layout = '{preset}'\nsteps = 2", "set=climate", "decomposition=blocks2d", steps=3)
    assert "7 steps, " in read(mpirun, tmp_path, 3, "set=climate", "decomposition=blocks3d", "memory=halo")


def without_lines(journal: Path, kind: str) -> None:
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if json.loads(line)["kind"] != kind))


@pytest.mark.parametrize("preset", ["fpp", "split:2"])
def test_reads_where_the_journal_has_no_plan(mpirun: Mpirun, tmp_path: Path, preset: str) -> None:
    """As with more parts than an index can show: where the blocks are is read from the parts."""
    write(mpirun, tmp_path, 3, f"layout = '{preset}'", "set=climate", "decomposition=irregular")
    without_lines(tmp_path / "history.parts" / "journal.jsonl", "plan")
    read(mpirun, tmp_path, 4, "set=climate", "decomposition=blocks2d")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("remove", "No such file"),
        ("truncate", "truncated"),
        ("empty", "truncated"),
    ],
)
def test_a_part_that_is_not_whole_is_an_error(mpirun: Mpirun, tmp_path: Path, harm: str, message: str) -> None:
    write(mpirun, tmp_path, 2, "layout = 'fpp'", "set=climate", steps=1)
    part = sorted((tmp_path / "history.parts").rglob("*.nc"))[-1]
    if harm == "remove":
        part.unlink()
    else:
        with part.open("r+b") as file:
            file.truncate(part.stat().st_size // 2 if harm == "truncate" else 0)
    finished = mpirun("read_case", 2, [tmp_path, "history", SMALL.argument], check=False)
    assert finished.returncode != 0
    assert str(part) in finished.output
    assert message in finished.output


def test_what_is_not_there_is_an_error_on_all_ranks(mpirun: Mpirun, tmp_path: Path) -> None:
    finished = mpirun("read_case", 3, [tmp_path, "history"], check=False)
    assert finished.output.count("there is no stream 'history'") >= 1, finished.output
    write(mpirun, tmp_path, 2, "layout = 'fpp'", "set=climate", steps=1)
    without_lines(tmp_path / "history.parts" / "journal.jsonl", "step")
    finished = mpirun("read_case", 3, [tmp_path, "history"], check=False)
    assert "has no committed step" in finished.output
