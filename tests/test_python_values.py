"""What is put from Python arrives as it is, or is refused: types, scalars, masks, and the reasons of abandoned steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tailrace

pytestmark = pytest.mark.fast


def opened(directory: Path) -> tailrace.Stream:
    stream = tailrace.open(directory, "history", layout="single", steps="all")
    stream.dim("x", 4)
    return stream


def stored(directory: Path, variable: str) -> Any:
    with h5py.File(directory / "history.nc") as file:
        return file[variable][...]


MASKED = np.ma.masked_greater(np.arange(4, dtype="f8"), 2)
WHOLE = np.ma.masked_greater(np.arange(4, dtype="f8"), 5)


@pytest.mark.parametrize(
    ("code", "dims", "values"),
    [
        ("i4", ("x",), np.array([0.5, 1, 2, 3])),
        ("u1", ("x",), np.array([0, 1, 2, 300])),
        ("i4", (), 3.7),
        ("u1", (), 300),
        ("i4", ("x",), [0, 1, 2, 3.5]),
        ("i4", (), np.int64(3)),
    ],
)
def test_what_the_type_cannot_hold_is_refused(tmp_path: Path, code: str, dims: tuple[str, ...], values: Any) -> None:
    with opened(tmp_path) as stream:
        stream.var("fixed", dims, code, static=True, replicated=True)
        stream.var("whole", dims, code, replicated=True)
        with pytest.raises(TypeError, match="fixed"):
            stream.put_static("fixed", values)
        stream.put_static("fixed", np.zeros(4 if dims else (), code))
        with pytest.raises(TypeError, match="whole"), stream.step(time=0.0) as step:
            step["whole"] = values
        if dims:
            stream.var("block", dims, code)
            with pytest.raises(TypeError, match="block"), stream.step(time=0.0) as step:
                step.put("block", values, offset=(0,))


def test_numbers_that_are_whole_may_be_floats(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("n", (), "u8")
        stream.var("v", ("x",), "i2")
        with stream.step(time=0.0) as step:
            step["n"] = 2**64 - 1
            step["v"] = [1.0, True, 3, -4]
    assert stored(tmp_path, "n").tolist() == [2**64 - 1]
    assert stored(tmp_path, "v").tolist() == [[1, 1, 3, -4]]


@pytest.mark.parametrize("value", [7, np.int32(7), np.array(7, dtype="i4")])
def test_static_scalars(tmp_path: Path, value: Any) -> None:
    with opened(tmp_path) as stream:
        stream.var("crs", dtype="i4", static=True)
        stream.put_static("crs", value)
        stream.coord("height", 2.0, dims=(), units="m")
        stream.coord("level", 5.0)  # a dimension of one
        with stream.step(time=0.0):
            pass
    assert stored(tmp_path, "crs").tolist() == 7
    assert stored(tmp_path, "height").tolist() == 2.0
    assert stored(tmp_path, "level").tolist() == [5.0]


@pytest.mark.parametrize("way", ["put", "put_all", "whole", "put_static", "coord"])
def test_masked_elements_are_refused_with_the_remedy(tmp_path: Path, way: str) -> None:
    def put(stream: tailrace.Stream, values: Any) -> None:
        if way == "put_static":
            stream.put_static("v", values)
        elif way == "coord":
            stream.coord("v", values, dims=("x",))
        else:
            with stream.step(time=0.0) as step:
                if way == "put_all":
                    step.put_all({"v": values}, offset=(0,))
                else:
                    step["v"] = values

    with opened(tmp_path) as stream:
        if way != "coord":
            stream.var("v", ("x",), static=way == "put_static", replicated=way in ("whole", "put_static"))
        with pytest.raises(tailrace.BadArgument, match=r"'v' has masked elements.*filled\(fill_value\)"):
            put(stream, MASKED)
        put(stream, WHOLE)
        if way in ("put_static", "coord"):
            with stream.step(time=1.0):
                pass
    assert stored(tmp_path, "v").ravel().tolist() == [0, 1, 2, 3]


def test_the_largest_fill_value(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("x",), "u8", fill_value=2**64 - 1)
        with stream.step(time=0.0) as step:
            step.put("v", np.array([5], dtype="u8"), offset=(1,))
    assert stored(tmp_path, "v").tolist() == [[2**64 - 1, 5, 2**64 - 1, 2**64 - 1]]


def test_an_exception_may_name_a_file_that_is_no_text(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        with pytest.raises(ValueError, match=r"^input"), stream.step(time=0.0):
            raise ValueError("input\udcff")
        stream.var("n", (), "i4")
        with stream.step(time=1.0) as step:
            step["n"] = 1
    assert stored(tmp_path, "time").tolist() == [1.0]
