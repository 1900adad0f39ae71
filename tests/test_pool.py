"""Streams over one communicator: the communicators that they are arranged on serve the next ones, and never the wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mpirun import Mpirun

pytestmark = pytest.mark.both_mpis(1)


@pytest.mark.parametrize("more", [(), ("threads",)], ids=["", "threads"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_streams_over_one_communicator(mpirun: Mpirun, tmp_path: Path, ranks: int, more: tuple[str, ...]) -> None:
    finished = mpirun("pool_case", ranks, [tmp_path, *more])
    assert finished.stdout.count("passed") == ranks
