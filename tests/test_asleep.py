"""Where every core has a writer, ranks that wait for one sleep until it calls them: on its core they would be in its way."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.mpirun import Mpirun

pytestmark = pytest.mark.both_mpis(1)

CORES = os.cpu_count() or 1
MOST_CORES = 8
SLOW_WRITES = 4
OFTEN = 200
"""Times. Four waits of 50 ms are 1000 if a rank looks every 0.2 ms (800 were counted), and about 20 if it sleeps."""


@pytest.mark.skipif(CORES > MOST_CORES, reason=f"{CORES} cores: for two ranks on each this machine is too large")
def test_who_waits_for_a_slow_writer_leaves_it_the_core(mpirun: Mpirun, tmp_path: Path) -> None:
    finished = mpirun("asleep_case", 2 * CORES, [tmp_path])
    said = re.findall(r"rank (\d+): (\d+) slow writes, given a core (\d+) times", finished.stdout)
    found = {int(rank): (int(writes), int(times)) for rank, writes, times in said}
    assert set(found) == set(range(2 * CORES)), finished.output
    for writer in range(0, 2 * CORES, 2):
        assert found[writer][0] == SLOW_WRITES, finished.output
        assert found[writer + 1][1] <= OFTEN, finished.output
