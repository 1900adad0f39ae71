"""A run that appends keeps the meaning of the steps that are there: attributes, types, shapes, static arrays and coordinates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
import xarray

from tests.environment import ROOT
from tests.journal import segment_paths
from tests.mpirun import Mpirun

LAYOUTS: dict[str, dict[str, Any]] = {
    "fpp-1": {"layout": "fpp", "steps": 1},
    "fpp-all": {"layout": "fpp", "steps": "all"},
    "hds": {"layout": "hds", "steps": 1},
    "split-3": {"layout": "split:1", "steps": 3},
    "single-1": {"layout": "single", "steps": 1},
    "single-all": {"layout": "single", "steps": "all"},
    "shared-all": {"layout": "shared", "steps": "all"},
    "compressed": {"layout": "single", "steps": "all", "compression": "deflate"},
    "overlap": {"layout": "single", "steps": "all", "overlap": 1},
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)

FIRST: dict[str, Any] = {
    "T": {"units": "K", "scale_factor": 0.1, "note": "first"},
    "time": {"units": "hours since 2000-01-01", "calendar": "standard"},
    "fill": -1,
    "dtype": "i2",
    "length": 3,
    "x": [1.0, 2.0, np.nan],
    "height": 2.5,
    "mask": [1, 1, 0],
}


def run(folder: Path, time: float, changes: dict[str, Any] | None = None, keys: dict[str, Any] | None = None) -> None:
    """Attributes None are left out."""
    given = FIRST | (changes or {})
    given["T"], given["time"] = ({**FIRST[name], **given[name]} for name in ("T", "time"))
    length = given["length"]
    with tailrace.open(folder, "history", **(keys or {})) as stream:
        stream.coord("x", np.resize(np.array(given["x"], "f8"), length))
        stream.var("T", ("x",), given["dtype"], fill_value=given["fill"])
        for variable in ("T", "time"):
            stream.attributes(variable, **{name: value for name, value in given[variable].items() if value is not None})
        stream.var("height", (), "f8", static=True)
        stream.put_static("height", np.float64(given["height"]))
        stream.var("mask", ("x",), "i1", static=True)
        with stream.step(time) as step:
            step.put("T", np.full(length, time, given["dtype"]))
            step.put("mask", np.resize(np.array(given["mask"], "i1"), length))


def seen(folder: Path) -> tuple[str, str]:
    with xarray.open_dataset(folder / "history.nc") as data, tailrace.open_read(folder, "history") as reader:
        reader.select(0)
        values = {name: data[name].isel(time=0) if "time" in data[name].dims else data[name] for name in data.variables}
        own = {name: reader.get(name).tolist() for name in ("T", "x", "height", "mask")}
        return str({name: (v.values.tolist(), v.attrs | {"note": None}) for name, v in values.items()}), str(own)


# Each: what is different, the error, and what its message has, both values among them.
CHANGES: dict[str, tuple[dict[str, Any], type[Exception], list[str]]] = {
    "units": ({"T": {"units": "degC"}}, tailrace.BadAttribute, ["'units' of variable 'T' is 'K'", "here 'degC'"]),
    "no-units": ({"T": {"units": None}}, tailrace.BadAttribute, ["'units' of variable 'T' is 'K'", "here none"]),
    "new-offset": ({"T": {"add_offset": 1.5}}, tailrace.BadAttribute, ["'add_offset' of variable 'T' is none", "here 1.5 (f8)"]),
    "scale": ({"T": {"scale_factor": 10.0}}, tailrace.BadAttribute, ["is 0.1 (f8)", "here 10 (f8)"]),
    "type-of-scale": ({"T": {"scale_factor": np.float32(0.1)}}, tailrace.BadAttribute, ["is 0.1 (f8)", "here 0.1 (f4)"]),
    "fill": ({"fill": -2}, tailrace.BadAttribute, ["'_FillValue' of variable 'T' is -1 (i2)", "here -2 (i2)"]),
    "no-fill": ({"fill": None}, tailrace.BadAttribute, ["'_FillValue' of variable 'T' is -1 (i2)", "here none"]),
    "missing": ({"T": {"missing_value": -9}}, tailrace.BadAttribute, ["missing_value", "none", "-9 (i2)"]),
    "range": ({"T": {"valid_range": [0, 9]}}, tailrace.BadAttribute, ["valid_range", "none", "[0, 9] (i2)"]),
    "least": ({"T": {"valid_min": 0}}, tailrace.BadAttribute, ["valid_min", "none", "0 (i2)"]),
    "most": ({"T": {"valid_max": 9}}, tailrace.BadAttribute, ["valid_max", "none", "9 (i2)"]),
    "coordinates": ({"T": {"coordinates": "height"}}, tailrace.BadAttribute, ["coordinates", "none", "'height'"]),
    "mapping": ({"T": {"grid_mapping": "crs"}}, tailrace.BadAttribute, ["grid_mapping", "none", "'crs'"]),
    "time-units": (
        {"time": {"units": "hours since 2001-01-01"}},
        tailrace.BadAttribute,
        ["'units' of variable 'time' is 'hours since 2000-01-01'", "here 'hours since 2001-01-01'"],
    ),
    "calendar": ({"time": {"calendar": "noleap"}}, tailrace.BadAttribute, ["is 'standard'", "here 'noleap'"]),
    "type": ({"dtype": "i4"}, tailrace.BadShape, ["'T' (i2)", "'T' (i4)"]),
    "length": ({"length": 4}, tailrace.BadShape, ["'x' of length 3", "'x' of length 4"]),
    "coordinate": ({"x": [1, 2.5, np.nan]}, tailrace.BadArgument, ["element [1] of the static variable 'x' is 2", "here 2.5"]),
    "scalar": ({"height": 10.0}, tailrace.BadArgument, ["static variable 'height' is 2.5", "here 10"]),
    "mask": ({"mask": [1, 0, 0]}, tailrace.BadArgument, ["element [1] of the static variable 'mask' is 1", "here 0"]),
}


@pytest.mark.fast
@layouts
def test_what_changes_the_meaning_is_refused(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    run(tmp_path, 1, keys=keys)
    before = seen(tmp_path)
    for name, (changes, error, said) in CHANGES.items():
        with pytest.raises(error) as refused:
            run(tmp_path, 2, changes, keys)
        for words in ["stream 'history' in ", *said, "another stream or directory", "mode = 'replace'"]:
            assert words in str(refused.value), (name, str(refused.value))
        assert seen(tmp_path) == before, name
    run(tmp_path, 2, keys=keys)
    assert seen(tmp_path) == before
    assert tailrace.verify(tmp_path, "history", deep=True)["ok"]


@pytest.mark.fast
@layouts
def test_other_attributes_may_change(tmp_path: Path, layout: str) -> None:
    """The last run's is shown, and the journal has those of each run."""
    keys = LAYOUTS[layout]
    run(tmp_path, 1, keys=keys)
    run(tmp_path, 2, {"T": {"note": "second", "more": 7}}, keys)
    with xarray.open_dataset(tmp_path / "history.nc") as data:
        assert data["T"].attrs["note"] == "second"
        assert data.sizes["time"] == 2
    text = "".join(path.read_text() for path in segment_paths(tmp_path / "history.parts" / "journal.jsonl"))
    assert re.findall(r'"note","text":"(\w+)"', text) == ["first", "second"]


@pytest.mark.fast
@pytest.mark.parametrize("mode", ["replace", "resume"])
@pytest.mark.parametrize("layout", ["fpp-1", "split-3", "single-all"])
def test_where_no_step_stays_anything_may_change(tmp_path: Path, layout: str, mode: str) -> None:
    run(tmp_path, 1, keys=LAYOUTS[layout])
    changes = {"T": {"units": "degC"}, "mask": [0, 0, 1], "x": [7, 8, 9]}
    run(tmp_path, 1, changes, LAYOUTS[layout] | {"mode": mode})
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.steps == [0]
        assert reader.get("mask").tolist() == [0, 0, 1]
        assert reader.get("x").tolist() == [7, 8, 9]
    with xarray.open_dataset(tmp_path / "history.nc") as data:
        assert data["T"].attrs["units"] == "degC"
        assert data["x"].values.tolist() == [7, 8, 9]


@pytest.mark.fast
def test_zero_and_minus_zero_are_equal(tmp_path: Path) -> None:
    run(tmp_path, 1, {"height": 0.0})
    run(tmp_path, 2, {"height": -0.0})


@pytest.mark.fast
def test_parts_that_were_moved_elsewhere(tmp_path: Path) -> None:
    """What cannot be read is not compared."""
    run(tmp_path, 1, keys=LAYOUTS["fpp-1"])
    for part in (tmp_path / "history.parts").rglob("*.nc"):
        part.rename(tmp_path / part.name)
    run(tmp_path, 2, keys=LAYOUTS["fpp-1"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("preset", ["fpp", "split:2", "single", "shared", "collective"])
@pytest.mark.parametrize("steps", ["1", "3", "'all'"])
def test_static_arrays_on_other_ranks(mpirun: Mpirun, tmp_path: Path, preset: str, steps: str) -> None:
    """Each rank compares its blocks, wherever they are stored. One element of one rank is different: refused on all."""
    program, options = ROOT / "tests" / "python_static.py", f"layout = '{preset}'\nsteps = {steps}"
    mpirun(program, 3, [tmp_path, options, "0", "-1"])
    mpirun(program, 2, [tmp_path, options, "1", "-1"])
    finished = mpirun(program, 4, [tmp_path, options, "2", "65537"])
    assert finished.stdout.count("element [2730, 17] of the static variable 'mesh' is 65537 in its steps, here 65538") == 4
    mpirun(program, 4, [tmp_path, options, "2", "-1"])
    assert tailrace.verify(tmp_path, "history", deep=True)["ok"]


# ---- a variable joins -----------------------------------------------------------------------------------------------------------

FILL_F4 = np.float32(9.9692099683868690e36)


def run_with(folder: Path, time: float, keys: dict[str, Any], joined: bool, first: bool = False) -> None:
    with tailrace.open(folder, "history", **keys) as stream:
        if joined and first:
            stream.dim("x", 4)
            stream.var("Q", ("x",), "f4")
        stream.dim("y", 3)
        stream.var("T", ("y",), "f8")
        if joined and not first:
            stream.dim("x", 4)
            stream.var("Q", ("x",), "f4")
            stream.var("R", ("y",), "i2", fill_value=-5)
            stream.var("level", (), "f8")
            stream.var("mesh", ("x",), "i4", static=True)
        with stream.step(time) as step:
            step.put("T", np.full(3, time, "f8"))
            if joined:
                step.put("Q", np.full(4, time, "f4"))
            if joined and not first:
                step.put("R", np.full(3, time, "i2"))
                step["level"] = time
                step.put("mesh", np.arange(4, dtype="i4"))


@pytest.mark.fast
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("single-all", "shared-all", "compressed", "overlap")])
def test_a_variable_joins(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    for time in (0, 1):
        run_with(tmp_path, time, keys, joined=False)
    for time in (2, 3):
        run_with(tmp_path, time, keys, joined=True)
    check_joined(tmp_path)
    with xarray.open_dataset(tmp_path / "history.nc", decode_times=False) as data:
        np.testing.assert_array_equal(data["T"].values[:, 0], [0, 1, 2, 3])
        np.testing.assert_array_equal(data["Q"].values[:, 1], [np.nan, np.nan, 2, 3])
        np.testing.assert_array_equal(data["R"].values[:, 1], [np.nan, np.nan, 2, 3])
        np.testing.assert_array_equal(data["level"].values, [np.nan, np.nan, 2, 3])
        np.testing.assert_array_equal(data["mesh"].values, [0, 1, 2, 3])
    assert tailrace.verify(tmp_path, "history", deep=True)["ok"]
    tailrace.combine(tmp_path, "history", tmp_path / "one.nc")
    with xarray.open_dataset(tmp_path / "one.nc", decode_times=False) as data:
        np.testing.assert_array_equal(data["Q"].values[:, 1], [np.nan, np.nan, 2, 3])
    tailrace.convert(tmp_path, "history", tmp_path / "copy", layout="single", steps="all")
    check_joined(tmp_path / "copy")
    with pytest.raises(tailrace.BadShape, match="there are 2 dimensions there, here 1"):
        run_with(tmp_path, 4, keys, joined=False)


def check_joined(folder: Path) -> None:
    with tailrace.open_read(folder, "history") as reader:
        for time in (0, 1, 2, 3):
            reader.select(time)
            is_there = time > 1
            np.testing.assert_array_equal(reader.get("T"), np.full(3, time))
            np.testing.assert_array_equal(reader.get("Q"), np.full(4, time if is_there else FILL_F4, "f4"))
            np.testing.assert_array_equal(reader.get("R"), np.full(3, time if is_there else -5, "i2"))
            assert reader.get("level") == (time if is_there else 9.9692099683868690e36)


@pytest.mark.fast
def test_a_variable_that_joins_comes_last(tmp_path: Path) -> None:
    keys = LAYOUTS["fpp-1"]
    run_with(tmp_path, 0, keys, joined=False)
    with pytest.raises(tailrace.BadShape, match="a new variable is defined behind those that are there, and so is its dimension"):
        run_with(tmp_path, 1, keys, joined=True, first=True)


@pytest.mark.fast
def test_no_variable_joins_the_file_that_grows(tmp_path: Path) -> None:
    keys = LAYOUTS["single-all"]
    run_with(tmp_path, 0, keys, joined=False)
    with pytest.raises(tailrace.BadLayout, match=r"variable 'Q' is new, and history\.nc .* has no place for it") as refused:
        run_with(tmp_path, 1, keys, joined=True)
    assert "tailrace convert" in str(refused.value)
    run_with(tmp_path, 1, keys, joined=False)
