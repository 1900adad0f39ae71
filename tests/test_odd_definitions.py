"""Names, coordinates and variables that are legal and rare: parts, index and combined file have them, or they are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
from tailrace import errors

FILL = -9.0


def opened(folder: Path, **options: Any) -> tailrace.Stream:
    return tailrace.open(folder, "history", **{"layout": "fpp", **options})


def test_names_that_parts_make_up_are_not_the_users(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.dim("x", 4)
        stream.var("u", ("x",), "f8")
        with pytest.raises(errors.BadArgument, match=r"variables 'u' and 'u\.1'"):
            stream.var("u.1", ("x",), "f8")
        stream.var("v.7", ("x",), "f8")
        with pytest.raises(errors.BadArgument, match=r"variables 'v\.7' and 'v'"):
            stream.var("v", ("x",), "f8")
        stream.var("u.10m", ("x",), "f8")


def test_pieces_of_dimensions_avoid_names_that_are_taken(tmp_path: Path) -> None:
    """Two blocks of one rank, of other lengths, beside what would be the name of the second's dimension."""
    values = np.arange(40.0).reshape(5, 8)
    with opened(tmp_path) as stream:
        stream.dim("lev", 5)
        stream.dim("lev_1", 3)
        stream.dim("x", 8)
        stream.var("u", ("lev", "x"), "f8")
        stream.var("x_1", ("lev_1",), "f8")
        with stream.step(0.0) as step:
            step.put("u", values[:2], offset=(0, 0))
            step.put("u", values[2:, :4], offset=(2, 0))
            step.put("u", values[2:, 4:7], offset=(2, 4))
            step.put("u", values[2:, 7:], offset=(2, 7))
            step.put("x_1", np.ones(3))
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["u"][0], values)
        np.testing.assert_array_equal(file["x_1"][0], np.ones(3))


def test_names_of_the_index_are_checked_when_they_are_defined(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.dim("obs", tailrace.RAGGED)
        with pytest.raises(errors.BadArgument, match="dimension 'obs_row_size' has the name of the variable in which the index"):
            stream.dim("obs_row_size", 3)
        stream.var("mass", (), "f8")
        with pytest.raises(errors.BadArgument, match="dimension 'mass' has the name of a variable"):
            stream.dim("mass", 3)
        for name in ("+x", "x" * 241):
            with pytest.raises(errors.BadArgument, match=r"use at most 240|begins with neither"):
                stream.dim(name, 3)


def test_more_bytes_than_a_file_may_have_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.dim("x", 2**32)
        stream.dim("none", 0)
        with pytest.raises(errors.BadShape, match="more bytes a step than a file may have"):
            stream.var("v", ("x", "x"), "i1")
        stream.var("w", ("x", "none"), "i1")


def test_ragged_variables_without_elements_have_no_say(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.dim("particle", tailrace.RAGGED)
        stream.dim("tracer", 0)
        stream.var("a", ("particle", "tracer"), "f8")
        stream.var("b", ("particle",), "f8")
        with stream.step(0.0) as step:
            step.put("a", np.empty((5, 0)))
            step.put("b", np.arange(5.0))
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["b"][:], np.arange(5.0))
        assert file["a"].shape == (5, 0)


def test_a_coordinate_without_elements(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.dim("x", 0)
        stream.coord("x", np.empty(0))
        stream.var("mass", (), "f8")
        with stream.step(0.0) as step:
            step.put("mass", 1.5)
    tailrace.combine(tmp_path, "history", tmp_path / "one.nc")
    for file in ("history.nc", "one.nc"):
        with netCDF4.Dataset(tmp_path / file) as dataset:
            assert dataset["x"].shape == (0,)
            assert dataset["mass"][0] == 1.5


@pytest.mark.parametrize("static", [False, True])
def test_what_nobody_has_put_takes_no_room(tmp_path: Path, static: bool) -> None:
    with opened(tmp_path) as stream:
        stream.dim("y", 1000)
        stream.dim("x", 1000)
        stream.var("v", ("y", "x"), "f8", static=static, fill_value=FILL)
        stream.var("mass", (), "f8")
        for k in range(2):
            with stream.step(float(k)) as step:
                step.put("mass", k)
    assert (tmp_path / "history.nc").stat().st_size < 100_000
    tailrace.combine(tmp_path, "history", tmp_path / "one.nc")
    for file in ("history.nc", "one.nc"):
        with netCDF4.Dataset(tmp_path / file) as dataset:
            dataset.set_auto_mask(False)
            shape = (1000, 1000) if static else (2, 1000, 1000)
            np.testing.assert_array_equal(dataset["v"][...], np.full(shape, FILL))
            np.testing.assert_array_equal(dataset["mass"][:], [0.0, 1.0])
    with tailrace.open_read(tmp_path, "history") as reader:
        np.testing.assert_array_equal(reader.get("v"), np.full((1000, 1000), FILL))


def test_compressed_steps_that_are_still_to_come_are_not_shown(tmp_path: Path) -> None:
    with opened(tmp_path, layout="single", steps="all", compression="deflate") as stream:
        stream.dim("x", 10_000)
        stream.var("v", ("x",), "f8", fill_value=FILL)
        for number in range(3):
            with stream.step(float(number)) as step:
                step.put("v", np.arange(10_000.0))
            stream.flush()
            with h5py.File(tmp_path / "history.nc", locking=False) as file:
                assert file["v"].compression == "gzip"
                assert len(file["v"]) == number + 1
                np.testing.assert_array_equal(file["v"][number], np.arange(10_000.0))
