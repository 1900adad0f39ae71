"""What people do with the files of a stream: move them, append to them, change a part with another tool. (That every reader sees
every value is in test_matrix.py.)"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace

from tests import formula
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS
from tests.readers import all_readers
from tests.seen_values import check

STEPS_PER_FILE = ("1", "3", "'all'")
STEPS = 5
RANKS = 3
SIZES = formula.Sizes()
READERS = all_readers()


def options(preset: str, steps_per_file: str) -> str:
    return f"layout = '{preset}'\nsteps = {steps_per_file}\nranks_per_node = 2"


def write(mpirun: Mpirun, folder: Path, preset: str, steps_per_file: str, steps: int = STEPS) -> Path:
    choices = ["decomposition=blocks2d", f"steps={steps}", SIZES.argument]
    mpirun("write_case", RANKS, [folder, "history", options(preset, steps_per_file), *choices])
    return folder / "history.nc"


@pytest.mark.parametrize("preset", PRESETS)
def test_moved_directory(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, rng: random.Random, preset: str) -> None:
    """Paths in the index are relative: the directory goes anywhere as a whole, and readers start anywhere."""
    write(mpirun, tmp_path / "before", preset, rng.choice(STEPS_PER_FILE))
    moved = tmp_path / "after" / "another name"
    moved.parent.mkdir()
    shutil.move(tmp_path / "before", moved)
    check(READERS["netcdf4"].read(moved / "history.nc", tmp_path), STEPS, SIZES)
    check(READERS["h5dump"].read(moved / "history.nc", tmp_path), STEPS, SIZES)
    verified = run_within([*tailrace_command, "verify", "--deep", str(moved)])
    assert verified.returncode == 0, verified.output


@pytest.mark.sampled(4)
@pytest.mark.parametrize("steps_per_file", STEPS_PER_FILE)
@pytest.mark.parametrize("preset", PRESETS)
def test_two_runs(mpirun: Mpirun, tmp_path: Path, preset: str, steps_per_file: str) -> None:
    write(mpirun, tmp_path, preset, steps_per_file, 2)
    path = write(mpirun, tmp_path, preset, steps_per_file, 3)
    check(READERS["netcdf4"].read(path, tmp_path), 5, SIZES)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("steps_per_file", ["1", "'all'"])
@pytest.mark.parametrize("preset", PRESETS)
def test_netcdf4_changes_a_part(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, preset: str, steps_per_file: str
) -> None:
    """A tool may open a part for writing: it adds an array and an attribute, and all else stays, checksums included."""
    path = write(mpirun, tmp_path, preset, steps_per_file, 2)
    parts = sorted((tmp_path / "history.parts").rglob("*.nc")) or [path]
    for part in parts:
        with netCDF4.Dataset(part, "a") as file:
            added = file.createVariable("added", "f8", ("time",))
            added[:] = 7.0
            added.units = "m"
            file.note = "changed"
        with netCDF4.Dataset(part) as file:
            assert file.note == "changed"
            assert file["added"][...].tolist() == [7.0] * len(file.dimensions["time"])
    if path not in parts:
        check(READERS["netcdf4"].read(path, tmp_path), 2, SIZES)
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        for variable in formula.CLIMATE:
            np.testing.assert_array_equal(file[variable.name][...], variable.all_values(2, SIZES), err_msg=variable.name)


def test_percent_signs_in_names(tmp_path: Path) -> None:
    """HDF5 takes them for patterns in the names of an index' sources."""
    names = ("50%", "b%b of %d", "a%%b")
    for name in names:
        with tailrace.open(tmp_path, f"stream {name}", layout="hds") as stream:
            stream.dim("x", 4)
            stream.dim("particle", tailrace.RAGGED)
            stream.var(name, ("x",), "f8")
            stream.var(f"p%{name}", ("particle",), "f8")
            for k in range(3):
                with stream.step(time=float(k)) as step:
                    step.put(name, np.arange(4.0) + 10 * k, offset=(0,))
                    step.put(f"p%{name}", np.arange(k + 1.0))
    for name in names:
        with h5py.File(tmp_path / f"stream {name}.nc") as file:
            np.testing.assert_array_equal(file[name][...], np.arange(4.0) + 10 * np.arange(3)[:, None])
        with netCDF4.Dataset(tmp_path / f"stream {name}.nc") as dataset:
            np.testing.assert_array_equal(dataset[name][...], np.arange(4.0) + 10 * np.arange(3)[:, None])
            assert dataset[f"p%{name}"][...].tolist() == [0, 0, 1, 0, 1, 2]
