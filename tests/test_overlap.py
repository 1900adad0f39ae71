"""Steps that are written while the simulation goes on: the same files as without overlap, whatever the layout and the policy."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tests import formula
from tests.matrix import DECOMPOSITIONS, SMALL, STEPS_PER_FILE, Case
from tests.mpirun import Mpirun
from tests.presets import PRESETS
from tests.test_decompositions import WRAPPING
from tests.written import check_values, verify, write

pytestmark = pytest.mark.both_mpis(3, 20)

STEPS = 7


def case_of(
    preset: str, steps_per_file: str, *more: str, ranks: int = 2, nodes: int = 0, decomposition: str = "rows", in_flight: int = 2
) -> Case:
    settings = "\n".join([f"overlap = {in_flight}", *more])
    return Case(preset, steps_per_file, nodes, ranks, decomposition, "dense", "climate", settings)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The sample has each preset with each number of steps a file; decomposition, ranks and nodes by the seed."""
    if "case" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} overlap")
    params = []
    for preset, steps_per_file in itertools.product(PRESETS, STEPS_PER_FILE):
        for sample, decomposition in enumerate(rng.sample(DECOMPOSITIONS, len(DECOMPOSITIONS))):
            ranks, in_flight = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 5))
            nodes = rng.choice([n for n in (0, 1, 2) if n < ranks])
            case = case_of(preset, steps_per_file, ranks=ranks, nodes=nodes, decomposition=decomposition, in_flight=in_flight)
            label = f"{preset}-{steps_per_file}-{decomposition}-{ranks}x{nodes}-{in_flight}".replace("'", "")
            params.append(pytest.param(case, id=label, marks=() if sample == 0 else (pytest.mark.full,)))
    metafunc.parametrize("case", params)


def test_same_values_as_without(mpirun: Mpirun, tmp_path: Path, case: Case) -> None:
    write(mpirun, tmp_path, case, SMALL, STEPS)
    check_values(tmp_path, "climate", SMALL, STEPS)
    verify(tmp_path)
    write(mpirun, tmp_path, case, SMALL, 2)
    check_values(tmp_path, "climate", SMALL, STEPS + 2)
    verify(tmp_path)


@pytest.mark.parametrize("policy", ["block", "spill"])
@pytest.mark.parametrize("preset", ["single", "fpp", "shared", "node"])
def test_steps_larger_than_the_window(mpirun: Mpirun, tmp_path: Path, preset: str, policy: str) -> None:
    sizes = formula.Sizes(lev=WRAPPING.lev * 8, lat=WRAPPING.lat, lon=WRAPPING.lon)
    memory = (f"overlap_policy = '{policy}'", "overlap_memory = '1 MiB'", f"spill_directory = '{tmp_path}'")
    write(mpirun, tmp_path, case_of(preset, "1", *memory), sizes, 4)
    check_values(tmp_path, "climate", sizes, 4)
    assert not list(tmp_path.glob(".*")), "the file that took the data has no name"


@pytest.mark.parametrize("durability", ["close", "step"])
@pytest.mark.parametrize("preset", ["single", "hds"])
def test_durable(mpirun: Mpirun, tmp_path: Path, preset: str, durability: str) -> None:
    for steps_per_file in STEPS_PER_FILE:
        folder = tmp_path / steps_per_file.strip("'")
        write(mpirun, folder, case_of(preset, steps_per_file, f"durability = '{durability}'", ranks=3), SMALL, STEPS)
        check_values(folder, "climate", SMALL, STEPS)
        verify(folder)


def test_old_steps_leave(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path, case_of("fpp", "1", "keep = 2"), SMALL, STEPS)
    parts = sorted(entry.name for entry in (tmp_path / "history.parts").iterdir() if entry.is_dir())
    assert parts == ["000000", "000005", "000006"], "the first has the static variables"
    verify(tmp_path)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("overlap_memory = '4 KiB'", "overlap_memory"),
        ("overlap_policy = 'forget'", "block | drop | spill"),
        ("spill_directory = ''", "spill_directory"),
    ],
)
def test_bad_choices(mpirun: Mpirun, tmp_path: Path, choice: str, message: str) -> None:
    finished = mpirun("write_case", 2, [tmp_path, "history", case_of("fpp", "1", choice).options], check=False)
    assert finished.returncode != 0
    assert message in finished.output
