"""Steps that are written while the simulation goes on: the same files as without overlap, whatever the layout and the policy."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tests import formula
from tests.mpirun import Mpirun
from tests.presets import PRESETS
from tests.test_decompositions import DECOMPOSITIONS, SMALL, STEPS_PER_FILE, WRAPPING, check_values, verify

pytestmark = pytest.mark.both_mpis(3)

STEPS = 7


def options(preset: str, steps_per_file: str, *more: str, in_flight: int = 2) -> str:
    return "\n".join([f"layout = '{preset}'", f"steps = {steps_per_file}", f"overlap = {in_flight}", *more])


def write(mpirun: Mpirun, folder: Path, ranks: int, settings: str, *choices: str, steps: int = STEPS, sizes: formula.Sizes = SMALL) -> None:
    mpirun("write_case", ranks, [folder, "history", settings, f"steps={steps}", sizes.argument, *choices])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The sample has each preset with each number of steps a file; decomposition, ranks and nodes by the seed."""
    if "case" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} overlap")
    params = []
    for preset, steps_per_file in itertools.product(PRESETS, STEPS_PER_FILE):
        for sample, decomposition in enumerate(rng.sample(DECOMPOSITIONS, len(DECOMPOSITIONS))):
            case = (preset, steps_per_file, decomposition, rng.choice((1, 2, 3, 4)), rng.choice((0, 1, 2)), rng.choice((1, 2, 5)))
            marks = () if sample == 0 else (pytest.mark.full,)
            params.append(pytest.param(case, id="-".join(str(part).strip("'") for part in case), marks=marks))
    metafunc.parametrize("case", params)


def test_same_values_as_without(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, case: tuple[str, str, str, int, int, int]
) -> None:
    preset, steps_per_file, decomposition, ranks, ranks_per_node, in_flight = case
    settings = options(preset, steps_per_file, f"ranks_per_node = {ranks_per_node}", in_flight=in_flight)
    write(mpirun, tmp_path, ranks, settings, f"decomposition={decomposition}")
    check_values(tmp_path, "climate", SMALL, STEPS)
    verify(tailrace_command, tmp_path)
    write(mpirun, tmp_path, ranks, settings, f"decomposition={decomposition}", steps=2)
    check_values(tmp_path, "climate", SMALL, STEPS + 2)
    verify(tailrace_command, tmp_path)


@pytest.mark.parametrize("policy", ["block", "spill"])
@pytest.mark.parametrize("preset", ["single", "fpp", "shared", "node"])
def test_steps_larger_than_the_window(mpirun: Mpirun, tmp_path: Path, preset: str, policy: str) -> None:
    sizes = formula.Sizes(lev=WRAPPING.lev * 8, lat=WRAPPING.lat, lon=WRAPPING.lon)
    memory = (f"overlap_policy = '{policy}'", "overlap_memory = '1 MiB'", f"spill_directory = '{tmp_path}'")
    write(mpirun, tmp_path, 2, options(preset, "1", *memory), steps=4, sizes=sizes)
    check_values(tmp_path, "climate", sizes, 4)
    assert not list(tmp_path.glob(".*")), "the file that took the data has no name"


@pytest.mark.parametrize("durability", ["close", "step"])
@pytest.mark.parametrize("preset", ["single", "hds"])
def test_durable(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, preset: str, durability: str) -> None:
    for steps_per_file in STEPS_PER_FILE:
        folder = tmp_path / steps_per_file.strip("'")
        write(mpirun, folder, 3, options(preset, steps_per_file, f"durability = '{durability}'"))
        check_values(folder, "climate", SMALL, STEPS)
        verify(tailrace_command, folder)


def test_old_steps_leave(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    write(mpirun, tmp_path, 2, options("fpp", "1", "keep = 2"))
    parts = sorted(entry.name for entry in (tmp_path / "history.parts").iterdir() if entry.is_dir())
    assert parts == ["000000", "000005", "000006"], "the first has the static variables"
    verify(tailrace_command, tmp_path)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("overlap_memory = '4 KiB'", "overlap_memory"),
        ("overlap_policy = 'forget'", "block | drop | spill"),
        ("spill_directory = ''", "spill_directory"),
    ],
)
def test_bad_choices(mpirun: Mpirun, tmp_path: Path, choice: str, message: str) -> None:
    finished = mpirun("write_case", 2, [tmp_path, "history", options("fpp", "1", choice)], check=False)
    assert finished.returncode != 0
    assert message in finished.output
