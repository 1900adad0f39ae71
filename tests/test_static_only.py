"""A stream of static arrays alone: NAME.nc has them, and no steps; and every command knows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace
import xarray
from tailrace import errors
from tailrace.cli import main

from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS
from tests.test_contract import PROGRAMS
from tests.test_told import told

pytestmark = pytest.mark.fast

DEPTH = np.arange(6, dtype="f4").reshape(3, 2)


def define(stream: tailrace.Stream, depth: np.ndarray = DEPTH) -> None:
    stream.coord("lat", np.arange(3.0), units="degrees_north")
    stream.dim("lon", 2)
    stream.var("depth", ("lat", "lon"), "f4", static=True, replicated=True, units="m", fill_value=-1)
    stream.var("radius", (), "f8", static=True)
    stream.attributes(title="the grid")
    stream.put_static("depth", depth)
    stream.put_static("radius", 6371.0)


def write(folder: Path, depth: np.ndarray = DEPTH, **keys: Any) -> None:
    with tailrace.open(folder, "geometry", **keys) as stream:
        define(stream, depth)


def check(path: Path, depth: np.ndarray = DEPTH) -> None:
    with netCDF4.Dataset(path) as file:
        assert set(file.variables) == {"lat", "lon", "depth", "radius"} - {"lon"}
        assert {name: len(dim) for name, dim in file.dimensions.items()} == {"lat": 3, "lon": 2}
        np.testing.assert_array_equal(file["depth"][:], depth)
        assert list(file["lat"][:]) == [0, 1, 2]
        assert float(file["radius"][...]) == 6371
        assert (file["depth"].units, file.title) == ("m", "the grid")
    with xarray.open_dataset(path) as dataset:
        np.testing.assert_array_equal(dataset["depth"], depth)


LAYOUTS = [
    {},
    {"steps": 1},
    {"files": "one", "writers": "per-node", "steps": "all"},
    {"layout": "fpp", "overlap": 2},
    {"layout": "fpp", "durability": "step"},
    *({"layout": preset, "steps": steps} for preset in PRESETS for steps in (1, 3, "all")),
]


@pytest.mark.parametrize("keys", LAYOUTS, ids=str)
def test_every_layout(tmp_path: Path, keys: dict[str, Any]) -> None:
    write(tmp_path, **keys)
    check(tmp_path / "geometry.nc")
    answer = tailrace.verify(tmp_path, "geometry", deep=True)
    assert (answer["ok"], answer["state"], answer["steps"]) == (True, "whole", 0)
    with tailrace.open_read(tmp_path, "geometry") as reader:
        assert reader.steps == []
        assert reader.times == []
        np.testing.assert_array_equal(reader.get("depth"), DEPTH)
        np.testing.assert_array_equal(reader.get_shared("depth"), DEPTH)
        assert reader.get("radius") == 6371
        with pytest.raises(errors.NotFound, match="only static arrays"):
            reader.select(0)


@pytest.mark.parametrize("keys", [{"layout": "single"}, {"layout": "fpp"}, {"steps": "all"}], ids=str)
def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: dict[str, Any]) -> None:
    write(tmp_path, **keys)
    assert main(["ls", str(tmp_path), "--json"]) == 0
    [stream] = json.loads(capsys.readouterr().out)["streams"]
    assert stream["index"] == [str(tmp_path / "geometry.nc")]
    assert {variable["name"] for variable in stream["variables"]} == {"lat", "depth", "radius"}
    assert main(["ls", str(tmp_path)]) == 0
    tailrace.combine(tmp_path, "geometry", tmp_path / "one.nc")
    check(tmp_path / "one.nc")
    tailrace.convert(tmp_path, "geometry", tmp_path / "other", layout="hds")
    check(tmp_path / "other" / "geometry.nc")
    (tmp_path / "geometry.nc").unlink()
    [problem] = tailrace.verify(tmp_path, "geometry")["problems"]
    assert problem["remedy"] == "index"
    tailrace.index(tmp_path, "geometry")
    check(tmp_path / "geometry.nc")
    assert tailrace.repair(tmp_path, "geometry")["ok"]
    check(tmp_path / "geometry.nc")


@pytest.mark.parametrize("keys", [{"layout": "single"}, {"layout": "fpp"}, {"layout": "single", "steps": "all"}], ids=str)
def test_written_again(tmp_path: Path, keys: dict[str, Any]) -> None:
    write(tmp_path, **keys)
    write(tmp_path, **keys)
    check(tmp_path / "geometry.nc")
    write(tmp_path, DEPTH + 1, mode="replace", **keys)
    check(tmp_path / "geometry.nc", DEPTH + 1)


@pytest.mark.parametrize("keys", [{"layout": "single"}, {"layout": "fpp"}, {"layout": "single", "steps": "all"}], ids=str)
def test_steps_may_follow(tmp_path: Path, keys: dict[str, Any]) -> None:
    """The same definitions with a step: then the stream is as any other."""
    write(tmp_path, **keys)
    with tailrace.open(tmp_path, "geometry", **keys) as stream:
        define(stream)
        with stream.step(5.0):
            pass
    with netCDF4.Dataset(tmp_path / "geometry.nc") as file:
        assert list(file["time"][:]) == [5]
        np.testing.assert_array_equal(file["depth"][:], DEPTH)
    assert tailrace.verify(tmp_path, "geometry", deep=True)["ok"]


def test_what_needs_a_step_is_told(tmp_path: Path) -> None:
    stream = tailrace.open(tmp_path, "geometry", layout="fpp")
    stream.coord("x", np.arange(3.0))
    stream.var("depth", ("x",), static=True)
    with pytest.raises(
        errors.BadOrder, match=r"closed without a step, and static variable 'depth' is distributed .*TAILRACE_REPLICATED"
    ):
        stream.close()
    stream = tailrace.open(tmp_path, "geometry", layout="fpp")
    stream.coord("x", np.arange(3.0))
    stream.var("radius", (), static=True)
    with pytest.raises(errors.BadOrder, match=r"static variable 'radius' was not put; put it before tailrace_close"):
        stream.close()
    assert not (tmp_path / "geometry.nc").exists()


WAITING: dict[str, Any] = {
    "nothing": lambda stream: None,
    "varies": lambda stream: stream.var("T"),
    "static": lambda stream: stream.var("radius", (), static=True),
    "static, distributed": lambda stream: (stream.dim("x", 3), stream.var("depth", ("x",), static=True)),
}


@pytest.mark.parametrize("define", WAITING.values(), ids=WAITING)
def test_a_stream_that_waits_for_its_steps_is_not_written(tmp_path: Path, define: Any) -> None:
    with tailrace.open(tmp_path, "geometry", layout="fpp") as stream:
        define(stream)
    assert not (tmp_path / "geometry.nc").exists()
    assert tailrace.verify(tmp_path, "geometry")["ok"]


def test_ranks(mpirun: Mpirun, tmp_path: Path) -> None:
    script = "all open out layout='split:2'\nall dim x 3\nall var x f8 3 x\nall whole x 1 2 3\nall close\n"
    (tmp_path / "script").write_text(script)
    (tmp_path / "answers").mkdir()
    finished = mpirun(PROGRAMS["C"], 3, [tmp_path / "script", tmp_path / "out", tmp_path / "answers"])
    assert told(finished) == []
    shown = run_within(["ncdump", str(tmp_path / "out" / "out.nc")])
    assert "x = 1, 2, 3 ;" in shown.stdout
    assert "time" not in shown.stdout


def test_an_array_that_one_rank_did_not_put_is_told(mpirun: Mpirun, tmp_path: Path) -> None:
    script = "all open out layout='fpp'\nall dim x 3\nall var x f8 3 x\n0 whole x 1 2 3\nall close\n"
    (tmp_path / "script").write_text(script)
    (tmp_path / "answers").mkdir()
    mpirun(PROGRAMS["C"], 2, [tmp_path / "script", tmp_path / "out", tmp_path / "answers"])
    for rank in range(2):
        assert (tmp_path / "answers" / str(rank)).read_text().splitlines()[-1].split()[1] != "OK"
    assert not (tmp_path / "out" / "out.nc").exists()
