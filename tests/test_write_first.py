"""A file a rank and step: ranks write before they know of the others, and nothing of it is seen before all have."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import tailrace

from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.python_write_first import STEPS, values

pytestmark = pytest.mark.fast

PROGRAM = ROOT / "tests" / "python_write_first.py"
OPTIONS = {
    "plain": "layout = 'fpp'",
    "without-checksums": "layout = 'fpp'\nchecksum = 'off'",
    "compressed": "layout = 'fpp'\ncompression = 'deflate'",
    "on-the-device": "layout = 'fpp'\ndurability = 'step'",
    "settings-of-more-than-4-KiB": f"layout = 'fpp'\nspill_directory = '/{'x' * 5000}'",  # told by messages
    "a-rank-a-node": "layout = 'fpp'\nranks_per_node = 1",
}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_ranks_do_not_wait_to_write(mpirun: Mpirun, tmp_path: Path, options: str, ranks: int) -> None:
    assert mpirun(PROGRAM, ranks, [tmp_path, options]).stdout.count("passed") == ranks
    with h5py.File(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["v"][...], np.stack([values(number) for number in STEPS]))
    answer = tailrace.verify(tmp_path, "history", deep=True)
    assert answer["steps"] == len(STEPS)
    assert not list((tmp_path / "history.parts").rglob(".pending-*"))


UNSEEN = {
    "fpp": (2, "layout = 'fpp'"),
    "overlap": (2, "layout = 'fpp'\noverlap = 1"),
    "steps": (2, "layout = 'fpp'\nsteps = 3"),
    "hds": (9, "layout = 'hds'\ntree = 8"),  # the last rank has a directory of its own
    "node": (2, "layout = 'node'\nranks_per_node = 1"),
    "split": (3, "layout = 'split:3'"),
    "shared": (2, "layout = 'shared'"),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a rank another directory")
@pytest.mark.parametrize(("ranks", "options"), UNSEEN.values(), ids=UNSEEN.keys())
def test_a_directory_that_a_rank_does_not_see_is_an_error(mpirun: Mpirun, tmp_path: Path, ranks: int, options: str) -> None:
    """No rank makes it where the others do not look, and all learn of it."""
    program = ROOT / "tests" / "python_unseen_directory.py"
    assert mpirun(program, ranks, [tmp_path, options]).stdout.count("passed") == ranks
    assert not list(tmp_path.glob("*.nc"))
