"""Decompositions beyond the matrix: arrays larger than the memory for exchange, a second run with other ranks, fewer elements than
ranks. Every value is read back."""

from __future__ import annotations

import random
from pathlib import Path

import h5py
import pytest

from tests import formula
from tests.matrix import MEMORIES, SETS, SMALL, STEPS_PER_FILE, Case
from tests.mpirun import Mpirun
from tests.presets import PRESETS, PRESETS_WITH_SCRATCH
from tests.written import check_values, verify, write

pytestmark = pytest.mark.both_mpis(4, 20)

# Rings of 64 KiB for messages between nodes and within them; this array takes several rounds of the ring.
WRAPPING = formula.Sizes(lev=11, lat=61, lon=67)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("ranks_per_node", [0, 1, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.parametrize("decomposition", ["irregular", pytest.param("columns", marks=pytest.mark.full)])
def test_ring_wraps(
    mpirun: Mpirun, tmp_path: Path, rng: random.Random, preset: str, ranks_per_node: int, decomposition: str
) -> None:
    """Arrays larger than the memory that writers offer, within a node and between nodes."""
    steps = rng.choice(STEPS_PER_FILE)
    case = Case(preset, steps, ranks_per_node, rng.choice((3, 4)), decomposition, rng.choice(MEMORIES), rng.choice(SETS))
    if preset in ("fpp", "hds") and decomposition == "columns":
        case = Case(preset, steps, ranks_per_node, 4, "blocks3d", "transposed", "climate")
    write(mpirun, tmp_path, case, WRAPPING, 2)
    check_values(tmp_path, case.variables, WRAPPING, 2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("preset", PRESETS_WITH_SCRATCH)
def test_other_decomposition_and_ranks_in_a_second_run(mpirun: Mpirun, tmp_path: Path, preset: str) -> None:
    """What is appended need not be decomposed as what is there; nor do ranks keep their numbers."""
    first = Case(preset, "2", 0, 3, "rows", "dense", "climate")
    second = Case(preset, "2", 1, 4, "irregular", "backwards", "climate")
    write(mpirun, tmp_path, first, SMALL, 3)
    write(mpirun, tmp_path, second, SMALL, 2, "order=reversed")
    check_values(tmp_path, "climate", SMALL, 5)
    verify(tmp_path)


def test_nodes_with_different_numbers_of_ranks(mpirun: Mpirun, tmp_path: Path) -> None:
    """A part a node: the first node's holds what its three ranks have put, the second's what its one rank has."""
    sizes = formula.Sizes(lev=3, lat=12, lon=8)
    write(mpirun, tmp_path, Case("node", "1", 3, 4, "rows", "dense", "climate"), sizes, 2)
    check_values(tmp_path, "climate", sizes, 2)
    lengths = []
    for part in sorted(tmp_path.glob("*.parts/000000/*.nc")):
        with h5py.File(part) as file:
            lengths.append(len(file["lat"]))
    assert lengths == [9, 3]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("extra", ["checksum = 'off'", "alignment = 8\nalign_threshold = 0", "durability = 'step'"])
@pytest.mark.parametrize("preset", ["single", "shared"])
def test_storage_keys(mpirun: Mpirun, tmp_path: Path, preset: str, extra: str) -> None:
    case = Case(preset, "'all'", 1, 3, "blocks2d", "halo", "types", extra)
    write(mpirun, tmp_path, case, SMALL, 2)
    check_values(tmp_path, "types", SMALL, 2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "lev_lat_lon", [(1, 1, 1), *(pytest.param(sizes, marks=pytest.mark.full) for sizes in [(2, 1, 5), (1, 7, 2)])]
)
@pytest.mark.parametrize("preset", PRESETS_WITH_SCRATCH)
def test_fewer_elements_than_ranks(mpirun: Mpirun, tmp_path: Path, preset: str, lev_lat_lon: tuple[int, int, int]) -> None:
    sizes = formula.Sizes(*lev_lat_lon)
    case = Case(preset, "1", 2, 4, "blocks3d", "dense", "climate")
    write(mpirun, tmp_path, case, sizes, 2)
    check_values(tmp_path, "climate", sizes, 2)
