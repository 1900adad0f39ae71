"""Presets x readers x ranks (1..4) x decompositions, pairwise in `make test`, all in `make test-full`, every value checked.

Steps a file and nodes are axes, too. A case is written once and read with its readers, a reader being a module in tests/readers/:
in `make test` the cases that the seed chooses so that all pairs meet; in the `full` tier every case with every reader.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable
from pathlib import Path

import pytest

from tests.matrix import DECOMPOSITIONS, RANKS, RANKS_PER_NODE, SMALL, STEPS_PER_FILE, Case, pairwise, whole_matrix
from tests.mpirun import Mpirun
from tests.presets import PRESETS
from tests.readers import all_readers
from tests.seen_values import check_reader
from tests.written import verify, write

pytestmark = pytest.mark.both_mpis(4, 20)

READERS = all_readers()
STEPS = 3

Read = tuple[Case, str]  # with a reader


def axes_of(read: Read) -> tuple[Hashable, ...]:
    case, reader = read
    return (
        case.preset,
        reader,
        case.ranks,
        case.decomposition,
        case.steps_per_file,
        case.ranks_per_node,
        case.memory,
        case.variables,
    )


def sample(seed: object) -> list[Read]:
    return pairwise(list(itertools.product(whole_matrix(), READERS)), axes_of, random.Random(f"{seed} matrix"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "readers" not in metafunc.fixturenames:
        return
    sampled = sample(metafunc.config.option.seed)
    params = [pytest.param(case, (reader,), id=f"{case.label}-{reader}") for case, reader in sampled]
    for case in whole_matrix():
        others = tuple(reader for reader in READERS if (case, reader) not in sampled)
        params.append(pytest.param(case, others, id=case.label, marks=pytest.mark.full))
    metafunc.parametrize(("case", "readers"), params)


def test_every_value(mpirun: Mpirun, tmp_path: Path, needs: Callable[..., None], case: Case, readers: tuple[str, ...]) -> None:
    path = write(mpirun, tmp_path / "written", case, SMALL, STEPS)
    for reader in readers:
        needs(*READERS[reader].PROGRAMS)
        check_reader(reader, READERS[reader], path, tmp_path, STEPS, SMALL, case.variables)
    verify(path.parent)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(5))
def test_the_sample_has_all_pairs(seed: int) -> None:
    axes = (PRESETS, tuple(READERS), RANKS, DECOMPOSITIONS, STEPS_PER_FILE, RANKS_PER_NODE)
    due = {
        (a, b, first, second)
        for (a, one), (b, other) in itertools.combinations(enumerate(axes), 2)
        for first, second in itertools.product(one, other)
    }
    # Groups of two ranks among two would be the machine's own node, of one rank alone likewise.
    ranks, per_node = axes.index(RANKS), axes.index(RANKS_PER_NODE)
    due -= {(ranks, per_node, n, group) for n in RANKS for group in RANKS_PER_NODE if 0 < n <= group}
    chosen = sample(seed)
    met = {
        (a, b, first, second)
        for read in chosen
        for (a, first), (b, second) in itertools.combinations(enumerate(axes_of(read)[: len(axes)]), 2)
    }
    assert met == due
    assert len(chosen) < 100
    assert len(set(chosen)) == len(chosen)
