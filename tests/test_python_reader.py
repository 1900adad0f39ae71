"""tailrace.open_read: hyperslabs into new and given arrays, steps, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests.test_python_api import SHAPE, opened, values

pytestmark = pytest.mark.fast


def written(directory: Path) -> None:
    with opened(directory, layout="fpp", steps=1) as stream:
        stream.coord("lat", np.linspace(-75.0, 75.0, SHAPE[0]), units="degrees_north")
        stream.var("T", ("lat", "lon"), "f4")
        stream.var("mass", (), "f8")
        for number in range(3):
            with stream.step(float(number)) as step:
                step.put("T", values("f4", number))
                step.put("mass", 10.0 + number)


def test_reads_back(tmp_path: Path) -> None:
    written(tmp_path)
    with tailrace.open_read(tmp_path, "history") as reader:
        assert (reader.steps, reader.times, reader.selected, reader.time) == ([0, 1, 2], [0.0, 1.0, 2.0], 2, 2.0)
        assert reader.dimensions == {"lat": 6, "lon": 8}
        np.testing.assert_array_equal(reader.get("T"), values("f4", 2))
        np.testing.assert_array_equal(reader.get("T", (2, 3), (3, 2)), values("f4", 2)[2:5, 3:5])
        np.testing.assert_array_equal(reader.get("T", (4, 1)), values("f4", 2)[4:, 1:])
        np.testing.assert_array_equal(reader.get_shared("lat"), np.linspace(-75.0, 75.0, SHAPE[0]))
        reader.select(-3)
        halo = np.full((SHAPE[0] + 2, SHAPE[1] + 2), -1, dtype="f4")
        reader.get("T", out=halo[1:-1, -2:0:-1])
        np.testing.assert_array_equal(halo[1:-1, -2:0:-1], values("f4", 0))
        assert (halo[0] == -1).all()
        assert (halo[:, 0] == -1).all()
        assert reader.get("mass") == 10.0
        reader.select(1)
        assert reader.time == 1.0
    assert reader.closed
    reader.close()
    with pytest.raises(errors.BadOrder, match="is closed"):
        reader.get("T")


def read_only(shape: tuple[int, ...], code: str) -> np.ndarray:
    array = np.zeros(shape, code)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda r: r.get("S"), errors.NotFound, "no variable 'S'; it has lat, T, mass"),
        (lambda r: r.get("T", (5, 0), (2, 8)), errors.BadShape, "leaves the array in dimension 0"),
        (lambda r: r.get("T", (-1, 0)), errors.BadShape, "offsets count from 0"),
        (lambda r: r.get("T", (0,), (1,)), errors.BadShape, "has 2 dimensions"),
        (lambda r: r.get("T", out=np.zeros(SHAPE)), TypeError, "holds f4"),
        (lambda r: r.get("T", out=read_only(SHAPE, "f4")), TypeError, "cannot be read into; pass a writable"),
        (lambda r: r.select(3), errors.NotFound, "has no step 3: it has 3 steps, from 0 to 2"),
        (lambda r: r.select(-4), errors.NotFound, "has no step -4"),
    ],
)
def test_reader_refuses(tmp_path: Path, use: Any, error: type[Exception], message: str) -> None:
    written(tmp_path)
    with tailrace.open_read(tmp_path, "history") as reader:
        with pytest.raises(error, match=message):
            use(reader)
        np.testing.assert_array_equal(reader.get("T"), values("f4", 2))
