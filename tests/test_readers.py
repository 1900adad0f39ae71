"""Readers x presets x steps a file: names, dimensions, coordinates, times, attributes and every value, from the index unchanged.

By default a sample that the seed chooses, in which every reader meets every preset; the `full` tier runs all. A reader is a module
in tests/readers/.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace

from tests import formula
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS
from tests.readers import Seen, SeenArray, all_readers

STEPS_PER_FILE = ("1", "3", "'all'")
STEPS = 5
RANKS = 3
SIZES = formula.Sizes()
READERS = all_readers()
OWN_ATTRIBUTES = "tailrace_"


def options(preset: str, steps_per_file: str) -> str:
    return f"layout = '{preset}'\nsteps = {steps_per_file}\nranks_per_node = 2"


def write(mpirun: Mpirun, folder: Path, preset: str, steps_per_file: str, steps: int = STEPS) -> Path:
    choices = ["decomposition=blocks2d", f"steps={steps}", SIZES.argument]
    mpirun("write_case", RANKS, [folder, "history", options(preset, steps_per_file), *choices])
    return folder / "history.nc"


@pytest.fixture(scope="module")
def written(mpirun: Mpirun, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The file of a layout, written when it is first asked for."""
    paths: dict[tuple[str, str], Path] = {}

    def path_of(preset: str, steps_per_file: str) -> Path:
        key = (preset, steps_per_file)
        if key not in paths:
            paths[key] = write(mpirun, tmp_path_factory.mktemp("readers"), preset, steps_per_file)
        return paths[key]

    return path_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "combination" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} readers")
    chosen = {(reader, preset): rng.choice(STEPS_PER_FILE) for reader in READERS for preset in PRESETS}
    metafunc.parametrize(
        "combination",
        [
            pytest.param(
                (reader, preset, steps),
                id=f"{reader}-{preset}-{steps.strip(chr(39))}",
                marks=() if chosen[reader, preset] == steps else (pytest.mark.full,),
            )
            for reader, preset, steps in itertools.product(READERS, PRESETS, STEPS_PER_FILE)
        ],
    )


def check_attributes(found: object, expected: object, of: str) -> None:
    assert isinstance(found, dict)
    plain = {name: value for name, value in found.items() if not name.startswith(OWN_ATTRIBUTES)}
    assert isinstance(expected, dict)
    assert plain.keys() == expected.keys(), of
    for name, value in expected.items():
        if isinstance(value, str):
            assert plain[name] == value, of
        else:
            np.testing.assert_array_equal(plain[name], value, err_msg=f"{of}: {name}")
            assert np.asarray(plain[name]).dtype == np.asarray(value).dtype, f"{of}: {name}"


def check_array(seen: SeenArray, variable: formula.Variable, steps: int) -> None:
    expected = variable.all_values(steps, SIZES)
    if seen.dims is not None:
        assert seen.dims == (variable.dims if variable.static else ("time", *variable.dims)), variable.name
    if seen.dtype is not None:
        assert seen.dtype == np.dtype(variable.dtype), variable.name
    if seen.attributes is not None:
        check_attributes(seen.attributes, dict(variable.attributes), variable.name)
    np.testing.assert_array_equal(np.ravel(seen.values), np.ravel(expected), err_msg=variable.name)


def check(seen: Seen, steps: int) -> None:
    lists_coordinates = "time" in seen.arrays  # cdo does not, nor what has no dimension at all
    for variable in formula.CLIMATE:
        if lists_coordinates or not (variable.is_coordinate or (variable.static and not variable.dims)):
            assert variable.name in seen.arrays, f"{variable.name} is not in {sorted(seen.arrays)}"
            check_array(seen.arrays[variable.name], variable, steps)
    known = {variable.name for variable in formula.CLIMATE} | {"time"}
    assert set(seen.arrays) <= known, sorted(seen.arrays)
    if lists_coordinates:
        time = seen.arrays["time"]
        np.testing.assert_array_equal(time.values, formula.times(steps))
        assert time.dims in (None, ("time",))
        if time.attributes is not None:
            check_attributes(time.attributes, formula.TIME_ATTRIBUTES, "time")
    if seen.dimensions is not None:
        assert dict(seen.dimensions) == {"time": steps, "lev": SIZES.lev, "lat": SIZES.lat, "lon": SIZES.lon}
    if seen.coordinates is not None:
        assert seen.coordinates == {"time", "lev", "lat", "lon"}
    if seen.attributes is not None:
        check_attributes(seen.attributes, formula.GLOBAL_ATTRIBUTES, "the file")
    if seen.times is not None:
        hours = formula.times(steps).astype("timedelta64[h]")
        np.testing.assert_array_equal(seen.times, np.datetime64("2001-01-01T00:00:00", "s") + hours)


def state_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_reader(
    written: Callable[[str, str], Path], tmp_path: Path, needs: Callable[..., None], combination: tuple[str, str, str]
) -> None:
    name, preset, steps_per_file = combination
    needs(*READERS[name].PROGRAMS)
    path = written(preset, steps_per_file)
    before = state_of(path.parent)
    check(READERS[name].read(path, tmp_path), STEPS)
    assert state_of(path.parent) == before


@pytest.mark.parametrize("preset", PRESETS)
def test_moved_directory(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, rng: random.Random, preset: str) -> None:
    """Paths in the index are relative: the directory goes anywhere as a whole, and readers start anywhere."""
    write(mpirun, tmp_path / "before", preset, rng.choice(STEPS_PER_FILE))
    moved = tmp_path / "after" / "another name"
    moved.parent.mkdir()
    shutil.move(tmp_path / "before", moved)
    check(READERS["netcdf4"].read(moved / "history.nc", tmp_path), STEPS)
    check(READERS["h5dump"].read(moved / "history.nc", tmp_path), STEPS)
    verified = run_within([*tailrace_command, "verify", "--deep", str(moved)], 60)
    assert verified.returncode == 0, verified.output


@pytest.mark.parametrize("steps_per_file", STEPS_PER_FILE)
@pytest.mark.parametrize("preset", PRESETS)
def test_two_runs(mpirun: Mpirun, tmp_path: Path, preset: str, steps_per_file: str) -> None:
    write(mpirun, tmp_path, preset, steps_per_file, 2)
    path = write(mpirun, tmp_path, preset, steps_per_file, 3)
    check(READERS["netcdf4"].read(path, tmp_path), 5)


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
        check(READERS["netcdf4"].read(path, tmp_path), 2)
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
            stream.var(name, ("x",), "f8")
            for k in range(3):
                with stream.step(time=float(k)) as step:
                    step.put(name, np.arange(4.0) + 10 * k, offset=(0,))
    for name in names:
        with h5py.File(tmp_path / f"stream {name}.nc") as file:
            np.testing.assert_array_equal(file[name][...], np.arange(4.0) + 10 * np.arange(3)[:, None])
        with netCDF4.Dataset(tmp_path / f"stream {name}.nc") as dataset:
            np.testing.assert_array_equal(dataset[name][...], np.arange(4.0) + 10 * np.arange(3)[:, None])
