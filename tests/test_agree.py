"""Agreements between ranks: votes, errors with their origins, and ranks that are in different calls."""

from __future__ import annotations

import pytest

from tests.mpirun import Mpirun

pytestmark = pytest.mark.both_mpis(1)


@pytest.mark.parametrize("ranks_per_node", [0, 1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_agreements_of_ranks_on_nodes(mpirun: Mpirun, ranks: int, ranks_per_node: int) -> None:
    finished = mpirun("agree_case", ranks, [ranks_per_node])
    assert finished.stdout.count("passed") == ranks, finished.output
