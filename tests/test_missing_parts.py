"""Elements that cannot be read are never 0: they are the variable's fill value, or NetCDF's default of its type."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
import xarray
from tailrace import errors

from tests.mpirun import run_within

pytestmark = pytest.mark.fast

TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


def write(folder: Path, **keys: Any) -> None:
    keys = {"layout": "fpp", "steps": 1, **keys}
    with tailrace.open(folder, "h", **keys) as stream:
        stream.dim("x", 3)
        for code in TYPES:
            stream.var(f"v_{code}", ("x",), code)
            stream.var(f"w_{code}", ("x",), code, fill_value=7)
            stream.var(f"s_{code}", ("x",), code, static=True)
        for time in range(2):
            with stream.step(time) as step:
                for code in TYPES:
                    for kind in "vws":
                        step.put(f"{kind}_{code}", np.full(3, 28, code), offset=(0,))


@pytest.fixture
def index_alone(tmp_path: Path) -> Path:
    write(tmp_path / "whole")
    (tmp_path / "alone").mkdir()
    return Path(shutil.copy(tmp_path / "whole" / "h.nc", tmp_path / "alone" / "h.nc"))


@pytest.mark.parametrize("code", TYPES)
def test_an_index_without_its_parts_shows_netcdfs_default(index_alone: Path, code: str) -> None:
    default = np.dtype(code).type(netCDF4.default_fillvals[code])
    with h5py.File(index_alone) as file:
        for kind in "vs":
            dataset = file[f"{kind}_{code}"]
            assert dataset.fillvalue == default
            assert (dataset[...] == default).all()
            assert "_FillValue" not in dataset.attrs
        assert (file[f"w_{code}"][...] == 7).all()
    with netCDF4.Dataset(index_alone) as file:
        for kind in "vs":
            values = file[f"{kind}_{code}"][:]
            assert np.ma.getmaskarray(values).all()
            assert (np.ma.getdata(values) == default).all()
            assert "_FillValue" not in file[f"{kind}_{code}"].ncattrs()
        assert np.ma.getmaskarray(file[f"w_{code}"][:]).all()
    with xarray.open_dataset(index_alone, decode_times=False) as dataset:
        assert (dataset[f"v_{code}"].values == default).all()
        assert np.isnan(dataset[f"w_{code}"].values).all()


def test_ncdump_shows_no_value(index_alone: Path) -> None:
    shown = run_within(["ncdump", "-v", "v_f4,s_i4,w_f8", str(index_alone)])
    assert shown.returncode == 0
    values = shown.stdout.split("data:")[1]
    assert values.count("_") >= 6 + 3 + 6
    assert "28" not in values
    assert " 0," not in values
    assert "v_f4:_FillValue" not in shown.stdout
    assert "w_f8:_FillValue = 7" in shown.stdout


def test_what_is_there_is_shown(tmp_path: Path) -> None:
    """The same index with its parts, and a part of the two missing."""
    write(tmp_path)
    with netCDF4.Dataset(tmp_path / "h.nc") as file:
        for code in TYPES:
            for kind in "vws":
                assert not np.ma.is_masked(file[f"{kind}_{code}"][:])
                assert (file[f"{kind}_{code}"][:] == 28).all()
    shutil.rmtree(tmp_path / "h.parts" / "000001")
    with netCDF4.Dataset(tmp_path / "h.nc") as file:
        values = file["v_f4"][:]
        assert (values[0] == 28).all()
        assert np.ma.getmaskarray(values[1]).all()
        assert list(file["time"][:]) == [0, 1]


def test_tailraces_own_readers_fail(tmp_path: Path) -> None:
    write(tmp_path)
    shutil.rmtree(tmp_path / "h.parts" / "000001")
    with tailrace.open_read(tmp_path, "h") as reader:
        with pytest.raises(errors.NotFound, match=r"000001.*No such file"):
            reader.get("v_f4", (0,), (3,))
        reader.select(0)
        assert (reader.get("v_f4", (0,), (3,)) == 28).all()
    with pytest.raises(errors.NotFound, match="000001"):
        tailrace.combine(tmp_path, "h", tmp_path / "one.nc")
    assert not tailrace.verify(tmp_path, "h")["ok"]


@pytest.mark.parametrize("keys", [{"layout": "single"}, {"layout": "split:2", "steps": 2}, {"layout": "hds"}])
def test_other_layouts(tmp_path: Path, keys: dict[str, Any]) -> None:
    write(tmp_path / "whole", **keys)
    (tmp_path / "alone").mkdir()
    shutil.copy(tmp_path / "whole" / "h.nc", tmp_path / "alone" / "h.nc")
    with netCDF4.Dataset(tmp_path / "alone" / "h.nc") as file:
        assert np.ma.getmaskarray(file["v_f8"][:]).all()
        assert np.ma.getmaskarray(file["s_f8"][:]).all()


def test_a_chunk_that_is_not_stored(tmp_path: Path) -> None:
    """In a part, too: HDF5 shows it as the fill value of the dataset."""
    with tailrace.open(tmp_path, "h", layout="single", steps=4, compression="deflate") as stream:
        stream.dim("x", 100_000)
        stream.var("T", ("x",), "f4")
        with stream.step(0.0) as step:
            step.put("T", np.ones(100_000, "f4"), offset=(0,))
    with h5py.File(next((tmp_path / "h.parts").glob("*.nc"))) as file:
        assert file["T"].fillvalue == np.float32(netCDF4.default_fillvals["f4"])
        assert (file["T"][0] == 1).all()
