"""Presets x ranks x decompositions x steps x nodes: every value is read back, and `tailrace verify --deep` agrees.

By default a sample that the seed chooses; the `full` tier runs the whole matrix.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from tests import formula
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS

pytestmark = pytest.mark.both_mpis(6)

DECOMPOSITIONS = ("rows", "columns", "blocks2d", "blocks3d", "irregular", "cells", "amr", "one", "some")
MEMORIES = ("dense", "halo", "transposed", "backwards")
STEPS_PER_FILE = ("1", "2", "'all'")
RANKS = (1, 2, 3, 4)
RANKS_PER_NODE = (0, 1, 2)
SETS = ("climate", "types")
STEPS = 3
# Rings of 64 KiB for messages between nodes and within them; this array takes several rounds of the ring.
WRAPPING = formula.Sizes(lev=11, lat=61, lon=67)
SMALL = formula.Sizes(lev=3, lat=10, lon=7)


@dataclass(frozen=True)
class Layout:
    preset: str
    steps_per_file: str
    ranks_per_node: int
    extra: str = ""

    @property
    def options(self) -> str:
        keys = [f"layout = '{self.preset}'", f"steps = {self.steps_per_file}", f"ranks_per_node = {self.ranks_per_node}"]
        return "\n".join([*keys, "exchange_bytes = '64 KiB'", self.extra])


@dataclass(frozen=True)
class Case:
    layout: Layout
    ranks: int
    decomposition: str
    memory: str
    variables: str

    @property
    def label(self) -> str:
        layout = self.layout
        where = f"{self.ranks}x{layout.ranks_per_node}"
        return "-".join((layout.preset, layout.steps_per_file.strip("'"), where, self.decomposition, self.memory, self.variables))


def whole_matrix() -> list[Case]:
    """Memory and set of variables alternate, so that each pairs with everything."""
    axes = itertools.product(PRESETS, STEPS_PER_FILE, RANKS_PER_NODE, RANKS, DECOMPOSITIONS)
    kinds = itertools.cycle(itertools.product(MEMORIES, SETS))
    return [
        Case(Layout(preset, steps, per_node), ranks, decomposition, *next(kinds))
        for preset, steps, per_node, ranks, decomposition in axes
        if per_node < ranks or per_node == 0
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The sample has each decomposition under each preset; all else by the seed."""
    if "sampled" not in metafunc.fixturenames:
        return
    cases = whole_matrix()
    rng = random.Random(f"{metafunc.config.option.seed} decompositions")
    chosen: set[Case] = set()
    for preset, decomposition in itertools.product(PRESETS, DECOMPOSITIONS):
        several = [
            case for case in cases if case.layout.preset == preset and case.decomposition == decomposition and case.ranks > 1
        ]
        chosen.add(rng.choice(several))
    params = [
        pytest.param(case, id=case.label, marks=() if case in chosen else (pytest.mark.full,))
        for case in sorted(cases, key=lambda case: case not in chosen)
    ]
    metafunc.parametrize("sampled", params)


def write(mpirun: Mpirun, folder: Path, case: Case, sizes: formula.Sizes, steps: int, *more: str) -> None:
    choices = [f"set={case.variables}", f"decomposition={case.decomposition}", f"memory={case.memory}", f"steps={steps}"]
    mpirun("write_case", case.ranks, [folder, "history", case.layout.options, *choices, sizes.argument, *more])


def check_values(folder: Path, variables: str, sizes: formula.Sizes, steps: int) -> None:
    with netCDF4.Dataset(folder / "history.nc") as file:
        file.set_auto_maskandscale(False)
        np.testing.assert_array_equal(file["time"][...], formula.times(steps))
        for variable in formula.SETS[variables]:
            found = file[variable.name]
            assert found.dtype == np.dtype(variable.dtype), variable.name
            np.testing.assert_array_equal(found[...], variable.all_values(steps, sizes), err_msg=variable.name)


def verify(tailrace_command: list[str], folder: Path) -> None:
    finished = run_within([*tailrace_command, "verify", "--deep", str(folder)], 60)
    assert finished.returncode == 0, finished.output


def test_decomposition(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, sampled: Case) -> None:
    write(mpirun, tmp_path, sampled, SMALL, STEPS)
    check_values(tmp_path, sampled.variables, SMALL, STEPS)
    verify(tailrace_command, tmp_path)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("ranks_per_node", [0, 1, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.parametrize("decomposition", ["irregular", pytest.param("columns", marks=pytest.mark.full)])
def test_ring_wraps(
    mpirun: Mpirun, tmp_path: Path, rng: random.Random, preset: str, ranks_per_node: int, decomposition: str
) -> None:
    """Arrays larger than the memory that writers offer, within a node and between nodes."""
    layout = Layout(preset, rng.choice(STEPS_PER_FILE), ranks_per_node)
    case = Case(layout, rng.choice((3, 4)), decomposition, rng.choice(MEMORIES), rng.choice(SETS))
    if preset in ("fpp", "hds") and decomposition == "columns":
        case = Case(layout, 4, "blocks3d", "transposed", "climate")
    write(mpirun, tmp_path, case, WRAPPING, 2)
    check_values(tmp_path, case.variables, WRAPPING, 2)


@pytest.mark.parametrize("preset", PRESETS)
def test_other_decomposition_and_ranks_in_a_second_run(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, preset: str
) -> None:
    """What is appended need not be decomposed as what is there; nor do ranks keep their numbers."""
    first = Case(Layout(preset, "2", 0), 3, "rows", "dense", "climate")
    second = Case(Layout(preset, "2", 1), 4, "irregular", "backwards", "climate")
    write(mpirun, tmp_path, first, SMALL, 3)
    write(mpirun, tmp_path, second, SMALL, 2, "order=reversed")
    check_values(tmp_path, "climate", SMALL, 5)
    verify(tailrace_command, tmp_path)


@pytest.mark.parametrize("extra", ["checksum = 'off'", "alignment = 8\nalign_threshold = 0", "durability = 'step'"])
@pytest.mark.parametrize("preset", ["single", "shared"])
def test_storage_keys(mpirun: Mpirun, tmp_path: Path, preset: str, extra: str) -> None:
    case = Case(Layout(preset, "'all'", 1, extra), 3, "blocks2d", "halo", "types")
    write(mpirun, tmp_path, case, SMALL, 2)
    check_values(tmp_path, "types", SMALL, 2)


@pytest.mark.parametrize(
    "lev_lat_lon", [(1, 1, 1), *(pytest.param(sizes, marks=pytest.mark.full) for sizes in [(2, 1, 5), (1, 7, 2)])]
)
@pytest.mark.parametrize("preset", PRESETS)
def test_fewer_elements_than_ranks(mpirun: Mpirun, tmp_path: Path, preset: str, lev_lat_lon: tuple[int, int, int]) -> None:
    sizes = formula.Sizes(*lev_lat_lon)
    case = Case(Layout(preset, "1", 2), 4, "blocks3d", "dense", "climate")
    write(mpirun, tmp_path, case, sizes, 2)
    check_values(tmp_path, "climate", sizes, 2)
