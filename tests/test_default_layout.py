"""The default is what people expect of a model: one file, all steps, appended along an unlimited time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace

pytestmark = pytest.mark.fast


def write(folder: Path, times: range, **keys: Any) -> None:
    with tailrace.open(folder, "history", **keys) as stream:
        stream.dim("x", 4)
        stream.var("T", ("x",), "f8")
        for time in times:
            with stream.step(time) as step:
                step.put("T", np.arange(4.0) + time, offset=(0,))


def test_one_file_that_grows(tmp_path: Path) -> None:
    write(tmp_path, range(2))
    write(tmp_path, range(2, 3))
    assert [path.name for path in tmp_path.rglob("*.nc")] == ["history.nc"]
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file.dimensions["time"].isunlimited()
        assert list(file["time"][:]) == [0, 1, 2]
        np.testing.assert_array_equal(file["T"][2], np.arange(4.0) + 2)
    [stream] = tailrace.list_streams(tmp_path)
    chosen = {key: stream["layout"][key] for key in ("layout", "files", "writers", "steps")}
    assert chosen == {"layout": "collective", "files": "one", "writers": "per-node", "steps": "all"}
    assert stream["requested"] == {}


def test_with_keep_each_step_has_a_file(tmp_path: Path) -> None:
    write(tmp_path, range(3), keep=2)
    assert sorted(path.name for path in (tmp_path / "history.parts").glob("*.nc")) == ["000001.nc", "000002.nc"]
    assert tailrace.describe_layout(keep=2)["layout"]["steps"] == "1"


@pytest.mark.parametrize("preset", ["single", "fpp", "hds", "split:4", "node", "shared", "collective"])
def test_presets_mean_what_they_meant(preset: str) -> None:
    assert tailrace.describe_layout(preset)["layout"]["steps"] == "1"
    assert tailrace.describe_layout(preset, steps="all")["layout"]["steps"] == "all"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"files": "per-rank"}, {"writers": "one", "steps": "all"}),
        ({"files": 4}, {"writers": "one", "steps": "all"}),
        ({"writers": "all"}, {"files": "one", "steps": "all"}),
        ({"steps": 1}, {"files": "one", "writers": "per-node"}),
        ({"keep": "all"}, {"steps": "all"}),
        ({"compression": "deflate"}, {"files": "one", "writers": "per-node", "steps": "all"}),
    ],
    ids=str,
)
def test_choices_beside_the_default(keys: dict[str, Any], expected: dict[str, str]) -> None:
    assert expected.items() <= tailrace.describe_layout(keys)["layout"].items()


def test_the_keys_say_so() -> None:
    defaults = {key["name"]: key["default"] for key in tailrace.keys()["keys"]}
    assert (defaults["layout"], defaults["files"], defaults["writers"], defaults["steps"]) == (
        "collective",
        "one",
        "per-node",
        "all",
    )


@pytest.mark.parametrize("keys", [{}, {"layout": "fpp"}, {"layout": "single"}, {"layout": "node", "steps": 10}], ids=str)
def test_a_plan_says_what_it_trades(keys: dict[str, Any]) -> None:
    variables = [{"name": "T", "type": "f4", "shape": [16, 32], "grid": [4, 1]}]
    assert any(
        (" file" in note and "copied" in note) or "copies" in note for note in tailrace.plan(variables, ranks=4, **keys)["notes"]
    )
