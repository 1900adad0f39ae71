"""Ranks that wait for a writer of their node sleep until it calls them: on its core they would be in its way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mpirun import Mpirun

pytestmark = pytest.mark.both_mpis(1)

SLOW_WRITES = 4
OFTEN = 200
"""Times. Four waits of 50 ms are 1000 if a rank looks every 0.2 ms (800 were counted), and about 20 if it sleeps."""


def test_who_waits_for_a_slow_writer_leaves_it_the_core(mpirun: Mpirun, tmp_path: Path) -> None:
    finished = mpirun("asleep_case", 2, [tmp_path])
    said = re.findall(r"rank (\d): (\d+) slow writes, given a core (\d+) times", finished.stdout)
    found = {int(rank): (int(writes), int(times)) for rank, writes, times in said}
    assert set(found) == {0, 1}, finished.output
    assert found[0][0] == SLOW_WRITES, finished.output
    assert found[1][0] == SLOW_WRITES, finished.output
    assert found[1][1] <= OFTEN, finished.output
