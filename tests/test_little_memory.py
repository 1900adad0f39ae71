"""Machines whose /dev/shm is small, as that of many containers is."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.environment import ROOT, open_mpi_environment
from tests.mpirun import Mpirun, run_within

MIB = 20  # two rings of 8 MiB and what MPI needs, but not a third ring
MOUNT = f'mount -t tmpfs -o size={MIB}m tmpfs /dev/shm && exec "$@"'
ELEMENTS, RANKS = 1 << 20, 4  # of python_little_memory.py


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount another /dev/shm")
def test_memory_kept_for_other_streams_is_given_up(mpirun: Mpirun, tmp_path: Path) -> None:
    layouts = ("single", "split:2", "single", "split:2")
    command = mpirun.command(ROOT / "tests" / "python_little_memory.py", RANKS, [tmp_path, *layouts])
    done = run_within(["unshare", "-m", "sh", "-c", MOUNT, "sh", *map(str, command)], env=open_mpi_environment())
    assert done.returncode == 0, done.output
    for number in range(len(layouts)):
        with xr.open_dataset(tmp_path / f"s{number}.nc") as shown:
            np.testing.assert_array_equal(shown["u"].values.ravel(), np.arange(ELEMENTS * RANKS) + float(number))
