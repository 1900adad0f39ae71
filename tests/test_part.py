"""Plain tools read what the part layer makes: the C++ program unit_part writes a file of every kind, each value by a formula."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import xarray

from tests.environment import HANGS_S
from tests.mpirun import run_within

KINDS = ("contiguous", "chunked", "fixed", "growing", "types", "odd", "timeless", "attributes", "tiny", "index")
CLIMATE = ("contiguous", "chunked", "fixed", "growing")
MORE_STEPS = 100
STEPS = {"contiguous": 1, "chunked": 5, "fixed": 5, "growing": 28}


@pytest.fixture(scope="module")
def files(build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files."""
    folder = tmp_path_factory.mktemp("part")
    program = build_dir / "tests" / "unit_part"
    os.environ["TAILRACE_READER_FILES"] = str(folder)
    try:
        finished = run_within(
            [str(program), "--gtest_filter=ReaderFiles.*:PlacementDriver.a_thousand*"], timeout_s=HANGS_S, cwd=folder
        )
    finally:
        del os.environ["TAILRACE_READER_FILES"]
    assert finished.returncode == 0, finished.stdout
    return folder


def expected(number: int, first: int, shape: tuple[int, ...], varies: bool) -> np.ndarray:
    """The values of an array, as part_files.hpp makes them."""
    steps, count = (shape[0], int(np.prod(shape[1:], dtype=int))) if varies else (1, int(np.prod(shape, dtype=int)))
    step, index = np.meshgrid(np.arange(steps), np.arange(count), indexing="ij")
    return ((number * 7 + step * 13 + (index + first) * 3) % 101).reshape(shape)


def bytes_or_numbers(values: np.ndarray) -> np.ndarray:
    """Characters as the numbers that they were made of."""
    return np.ascontiguousarray(values).view("u1") if values.dtype.kind == "S" else values


def numbers_of(attribute: object) -> tuple[int, int]:
    number, first = np.asarray(attribute)
    return int(number), int(first)


@pytest.mark.fast
@pytest.mark.parametrize("kind", KINDS)
def test_h5py(files: Path, kind: str) -> None:
    with h5py.File(files / f"{kind}.nc") as file:
        arrays = [array for array in file.values() if "number_and_first" in array.attrs]
        assert arrays
        for array in arrays:
            number, first = numbers_of(array.attrs["number_and_first"])
            varies = array.name == "/time" or ("DIMENSION_LIST" in array.attrs and array.dims[0][0].name == "/time")
            np.testing.assert_array_equal(
                bytes_or_numbers(array[()]), expected(number, first, array.shape, varies), err_msg=array.name
            )


@pytest.mark.fast
@pytest.mark.parametrize("kind", KINDS)
def test_netcdf4(files: Path, kind: str) -> None:
    with netCDF4.Dataset(files / f"{kind}.nc") as file:
        file.set_auto_maskandscale(False)
        assert not [name for name in file.dimensions if name.startswith("phony")]
        for name, array in file.variables.items():
            number, first = numbers_of(array.number_and_first)
            np.testing.assert_array_equal(
                bytes_or_numbers(array[...]), expected(number, first, array.shape, array.dimensions[:1] == ("time",)), err_msg=name
            )
        if kind in STEPS:
            assert len(file.dimensions["time"]) == STEPS[kind]
            assert file.dimensions["time"].isunlimited() == (kind in ("chunked", "growing"))


@pytest.mark.fast
@pytest.mark.parametrize("kind", CLIMATE)
def test_xarray(files: Path, kind: str) -> None:
    with xarray.open_dataset(files / f"{kind}.nc") as data:
        assert set(data.coords) == {"time", "lat", "lon"}
        assert data.T.dims == ("time", "lat", "lon")
        assert data.U.dims == ("time", "layer", "lat", "lon")
        assert dict(data.sizes) == {"time": STEPS[kind], "lat": 6, "lon": 8, "layer": 3}
        assert data.attrs["title"] == "größte Probe"
        assert data.T.attrs["long_name"] == "Temperatur der Luft, °C über Null"
        assert data.T.attrs["comment"] == ""
        assert data.T.attrs["valid_range"].tolist() == [0.0, 100.0]
        assert data.T.encoding["_FillValue"] == np.float32(-999)
        assert str(data.time.values[0])[:13] == "2000-01-01T00"
        np.testing.assert_array_equal(data.T.values, expected(3, 0, data.T.shape, True))


@pytest.mark.fast
def test_types(files: Path) -> None:
    with netCDF4.Dataset(files / "types.nc") as file:
        for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
            array = file[f"step_{code}"]
            assert array.dtype == np.dtype(code)
            assert array._FillValue == (33 * 3) % 101
            assert array._FillValue.dtype == np.dtype(code)
            assert array.three.dtype == np.dtype(code)
            assert array.three.tolist() == [(7 + 26 + index * 3) % 101 for index in (3, 4, 5)]
        assert file["step_S1"].dtype == np.dtype("S1")
        assert file["step_S1"]._FillValue == bytes([(33 * 3) % 101])
        assert file["step_S1"].three == bytes((7 + 26 + index * 3) % 101 for index in (3, 4, 5)).decode()
    with h5py.File(files / "types.nc") as raw:
        assert raw["step_i2"].fillvalue == 99


@pytest.mark.fast
def test_scales_are_as_hdf5_defines_them(files: Path) -> None:
    """Both directions of each link, for arrays and dimensions with and without a coordinate."""
    with h5py.File(files / "chunked.nc") as file:
        assert [dimension[0].name for dimension in file["U"].dims] == ["/time", "/layer", "/lat", "/lon"]
        assert all(file[name].is_scale for name in ("time", "layer", "lat", "lon"))
        assert file["layer"].attrs["NAME"].startswith(b"This is a netCDF dimension but not a netCDF variable.         3")
        uses = {(file[entry["dataset"]].name, int(entry["dimension"])) for entry in file["lat"].attrs["REFERENCE_LIST"]}
        assert uses == {("/T", 1), ("/U", 2), ("/mask", 0)}


@pytest.mark.fast
@pytest.mark.parametrize("kind", KINDS)
def test_ncdump_and_h5dump(files: Path, kind: str, needs: Callable[..., None]) -> None:
    needs("ncdump", "h5dump")
    path = files / f"{kind}.nc"
    for command in (["ncdump", str(path)], ["h5dump", str(path)]):
        finished = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S)
        assert finished.returncode == 0, finished.stderr
        assert finished.stderr == ""
        assert "number_and_first" in finished.stdout


@pytest.mark.fast
@pytest.mark.parametrize("kind", [*CLIMATE, "index", "tiny"])
def test_cdo(files: Path, kind: str, needs: Callable[..., None]) -> None:
    """The mean of a field, by cdo and by the formula."""
    needs("cdo")
    name, number, shape = ("v0", 1, (2, 2)) if kind == "tiny" else ("T", 2 if kind == "index" else 3, (6, 8))
    steps = {"index": 2, "tiny": 4}.get(kind) or STEPS[kind]
    command = ["cdo", "-s", "outputf,%.6g,1", "-fldsum", f"-selname,{name}", str(files / f"{kind}.nc")]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S)
    assert finished.returncode == 0, finished.stderr
    sums = expected(number, 0, (steps, *shape), True).sum(axis=(1, 2))
    assert [float(line) for line in finished.stdout.split()] == sums.tolist()


@pytest.mark.fast
@pytest.mark.parametrize("kind", ["contiguous", "chunked", "growing", "attributes", "tiny"])
def test_netcdf4_appends(files: Path, tmp_path: Path, kind: str) -> None:
    """A tool adds arrays, attributes and where time is unlimited steps; all that was there stays, checksums included."""
    path = tmp_path / "appended.nc"
    shutil.copy(files / f"{kind}.nc", path)
    with netCDF4.Dataset(path, "a") as file:
        unlimited = file.dimensions["time"].isunlimited()
        before = {name: array[...] for name, array in file.variables.items()}
        added = file.createVariable("added", "f8", ("time", "lat"))
        added[:] = 7.0
        added.units = "m"
        file.history = "an array was added"
        for number in range(100):  # more than a header keeps
            file.setncattr(f"note_{number}", "x" * number)
        for number in range(20):
            file.createVariable(f"more_{number}", "i4", ("lon",))[:] = number
        steps = len(file.dimensions["time"])
        fields = [name for name, values in before.items() if values.ndim == 3]
        if unlimited:
            # So many that indexes of chunks get further nodes and levels.
            file["time"][steps : steps + MORE_STEPS] = np.arange(MORE_STEPS)
            for name in fields:
                file[name][steps : steps + MORE_STEPS] = np.arange(MORE_STEPS)[:, None, None]
    seals = sealed_extents(path)
    assert seals or kind == "tiny"
    with netCDF4.Dataset(path) as file:
        assert file["added"].units == "m"
        assert float(file["added"][0].sum()) == 7.0 * len(file.dimensions["lat"])
        for name, values in before.items():
            array = file[name][: len(values)] if values.ndim else file[name][...]
            np.testing.assert_array_equal(array, values, err_msg=name)
        assert [int(file[f"more_{number}"][0]) for number in range(20)] == list(range(20))
        assert len(file.note_99) == 99
        if unlimited:
            assert file["time"][steps:].tolist() == list(range(MORE_STEPS))
            for name in fields:
                assert file[name][steps:, 0, 0].tolist() == list(range(MORE_STEPS)), name
    original, changed = (files / f"{kind}.nc").read_bytes(), path.read_bytes()
    for address, count in seals:
        assert changed[address : address + count] == original[address : address + count]


def sealed_extents(path: Path) -> list[tuple[int, int]]:
    """The extents that the seals of a file cover, found from the file alone."""
    with h5py.File(path) as file:
        if "tailrace_seals" not in file.attrs:
            return []
        numbers = [int(number) for number in file.attrs["tailrace_seals"]]
    _, _, _, static_seal, step_seal, pitch = numbers[:6]
    places = [static_seal] if static_seal else []
    for steps, address in zip(numbers[7::3], numbers[8::3], strict=True):
        places += [address + step * pitch + step_seal for step in range(steps)]
    content, extents = path.read_bytes(), []
    for place in places:
        assert content[place : place + 8] == b"TRSEAL01"
        count = int.from_bytes(content[place + 24 : place + 32], "little")
        records = np.frombuffer(content, "<u8", 3 * count, place + 48).reshape(-1, 3)
        extents += [(int(address), int(size)) for address, size, _ in records]
    return extents


@pytest.mark.fast
def test_the_index_follows_its_parts(files: Path, tmp_path: Path) -> None:
    """Names in the index are relative: the folder can be moved; what shows through is the parts' data."""
    moved = tmp_path / "moved"
    shutil.copytree(files, moved)
    with h5py.File(moved / "parts" / "T.4.nc", "r+") as part:
        part["T"][0, 0, 0] = -5.0
    with xarray.open_dataset(moved / "index.nc") as data:
        assert data.T[0, 4, 0] == -5.0
    with h5py.File(files / "index.nc") as index:
        assert {source.file_name for source in index["T"].virtual_sources()} == {"parts/T.0.nc", "parts/T.4.nc"}


@pytest.mark.fast
def test_deflated_chunks(files: Path) -> None:
    with h5py.File(files / "deflated.h5") as file:
        index = np.arange(64 * 1000)
        np.testing.assert_array_equal(file["x"][:], index % 1009 * 0.5 + index // 64 % 7)
        assert file["x"].compression == "gzip"


@pytest.mark.fast
def test_many_tiny_arrays_stay_small(files: Path) -> None:
    assert (files / "tiny.nc").stat().st_size < 400_000


def test_five_thousand_arrays(files: Path) -> None:
    with netCDF4.Dataset(files / "many.nc") as file:
        assert len(file.variables) == 5001
        np.testing.assert_array_equal(file["v4999"][:], expected(5000, 0, (2, 2), True))
    with h5py.File(files / "many.nc") as raw:
        # An attribute has at most 64 KiB, so the list of 5,000 uses is left out. Each array still names its dimensions.
        assert "REFERENCE_LIST" not in raw["lat"].attrs
        assert [raw["v4999"].dims[d][0].name for d in (0, 1)] == ["/time", "/lat"]
