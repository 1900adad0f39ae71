"""The file that people open is changed by other programs: nothing is appended to what they made or written over it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace

from tests.presets import PRESETS

LENGTH = 5000
ONE_FILE: dict[str, Any] = {"layout": "single", "steps": "all"}


def write(directory: Path, count: int = 2, /, **keys: Any) -> None:
    """Appends steps; the value of each is its number."""
    with tailrace.open(directory, "h", **{**ONE_FILE, **keys}) as stream:
        stream.dim("x", LENGTH)
        stream.var("T", ("x",), "f4", units="K")
        for number in range(stream.step_count, stream.step_count + count):
            with stream.step(float(number)) as step:
                step.put("T", np.full(LENGTH, number, "f4"), offset=(0,))


def values(path: Path) -> list[float]:
    with netCDF4.Dataset(path) as file:
        shown = np.ma.filled(file["T"][:].astype("f8"), np.nan)
        assert (shown == shown[:, :1]).all()
        assert file["time"][:].tolist() == shown[:, 0].tolist()
        return shown[:, 0].tolist()


TOOLS = {
    "ncks": ["ncks", "-O"],
    "nccopy": ["nccopy"],
    "h5repack": ["h5repack"],
    "cdo": ["cdo", "-s", "-f", "nc4", "copy"],
}


@pytest.mark.parametrize("keys", [{}, {"compression": "deflate"}], ids=["plain", "compressed"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_that_a_tool_wrote_anew_is_refused(
    tool: str, keys: dict[str, Any], tmp_path: Path, needs: Callable[..., None]
) -> None:
    needs(TOOLS[tool][0])
    write(tmp_path, **keys)
    path = tmp_path / "h.nc"
    subprocess.run([*TOOLS[tool], path, tmp_path / "new.nc"], check=True, capture_output=True)
    os.replace(tmp_path / "new.nc", path)
    before = path.read_bytes()
    with pytest.raises(tailrace.Error, match=r"h\.nc was changed by another program .*tailrace convert"):
        write(tmp_path, **keys)
    assert path.read_bytes() == before
    problems = [problem["problem"] for problem in tailrace.verify(tmp_path, "h")["problems"]]
    assert any("another program has changed it" in problem for problem in problems), problems


def add_attribute(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.comment = "edited"


def add_step(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file["time"][2] = 2.0
        file["T"][2] = 2.0


def change_units(path: Path) -> None:
    subprocess.run(["ncatted", "-h", "-a", "units,T,o,c,C", path], check=True)


@pytest.mark.parametrize("edit", [add_attribute, add_step, change_units], ids=lambda edit: edit.__name__)
def test_a_file_that_was_edited_is_refused(edit: Callable[[Path], None], tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("ncatted")
    write(tmp_path)
    path = tmp_path / "h.nc"
    edit(path)
    before = path.read_bytes()
    with pytest.raises(tailrace.Error, match="was changed by another program"):
        write(tmp_path)
    assert path.read_bytes() == before


def attribute(path: Path, variable: str, name: str) -> object:
    with netCDF4.Dataset(path) as file:
        return (file[variable] if variable else file).getncattr(name)


@pytest.mark.parametrize("keys", [{}, {"compression": "deflate"}, {"checksum": "off"}], ids=["plain", "compressed", "unchecked"])
def test_changed_attributes_are_adopted(keys: dict[str, Any], tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("ncatted")
    write(tmp_path, **keys)
    path = tmp_path / "h.nc"
    edits = [
        "-a",
        "comment,global,c,c,edited",
        "-a",
        "units,T,d,,",
        "-a",
        "long_name,T,c,c,temperature",
        "-a",
        "levels,T,c,d,1.5,2",
    ]
    subprocess.run(["ncatted", "-h", *edits, path], check=True)
    answer = tailrace.adopt(tmp_path, "h")
    assert {(change["variable"], change["attribute"]) for change in answer["changed"]} == {
        ("", "comment"),
        ("T", "units"),
        ("T", "long_name"),
        ("T", "levels"),
    }
    assert tailrace.adopt(tmp_path, "h")["changed"] == []
    assert tailrace.verify(tmp_path, "h", deep=True)["ok"]
    assert values(path) == [0, 1]
    assert (attribute(path, "", "comment"), attribute(path, "T", "long_name")) == ("edited", "temperature")
    np.testing.assert_array_equal(attribute(path, "T", "levels"), [1.5, 2])
    with pytest.raises(tailrace.BadAttribute, match="'units' of variable 'T' is none in its steps, here 'K'"):
        write(tmp_path, **keys)
    with tailrace.open(tmp_path, "h", **{**ONE_FILE, **keys}) as stream:
        stream.dim("x", LENGTH)
        stream.var("T", ("x",), "f4")
        with stream.step(2.0) as step:
            step.put("T", np.full(LENGTH, 2, "f4"), offset=(0,))
    assert values(path) == [0, 1, 2]


def add_variable(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.createVariable("more", "f4", ("x",))[:] = 1


def change_values(path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        file.comment = "edited"
        file["T"][1, 7] = 99


def write_anew(path: Path) -> None:
    subprocess.run(["nccopy", path, path.with_name("new.nc")], check=True)
    os.replace(path.with_name("new.nc"), path)


def change_fill(path: Path) -> None:
    subprocess.run(["ncatted", "-h", "-a", "_FillValue,T,c,f,-1", path], check=True)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (add_step, "it has 3 steps, and the stream has 2"),
        (add_variable, "variable or dimension 'more' was added"),
        (change_values, "values were changed"),
        (write_anew, "it was written anew"),
        (change_fill, "_FillValue of 'T' was changed"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_more_than_attributes_is_not_adopted(
    edit: Callable[[Path], None], why: str, tmp_path: Path, needs: Callable[..., None]
) -> None:
    needs("ncatted", "nccopy")
    write(tmp_path)
    path = tmp_path / "h.nc"
    edit(path)
    before = path.read_bytes()
    with pytest.raises(tailrace.Unsupported, match=f"{why}.*tailrace convert"):
        tailrace.adopt(tmp_path, "h")
    assert path.read_bytes() == before


def test_opening_for_reading_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    values(tmp_path / "h.nc")
    write(tmp_path)
    assert values(tmp_path / "h.nc") == [0, 1, 2, 3]


@pytest.mark.parametrize("how", ["cp", "cp-p", "tar"])
def test_a_copy_is_appended_to_as_before(how: str, tmp_path: Path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    first.mkdir()
    write(first)
    if how == "tar":
        copy.mkdir()
        subprocess.run(["tar", "-C", first, "-cf", tmp_path / "h.tar", "."], check=True)
        subprocess.run(["tar", "-C", copy, "-xf", tmp_path / "h.tar"], check=True)
    else:
        shutil.copytree(first, copy, copy_function=shutil.copy2 if how == "cp-p" else shutil.copy)
    write(copy)
    assert values(copy / "h.nc") == [0, 1, 2, 3]
    assert tailrace.verify(copy, "h", deep=True)["ok"]


def test_while_a_run_writes_readers_are_free_and_writers_are_refused(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "h", **ONE_FILE) as stream:
        stream.dim("x", LENGTH)
        stream.var("T", ("x",), "f4")
        for number in range(4):
            with stream.step(float(number)) as step:
                step.put("T", np.full(LENGTH, number, "f4"), offset=(0,))
            assert values(tmp_path / "h.nc") == list(range(number + 1))
            with pytest.raises(OSError, match=r"(?i)lock|permission|unavailable|denied|HDF"):
                netCDF4.Dataset(tmp_path / "h.nc", "a")
    assert values(tmp_path / "h.nc") == [0, 1, 2, 3]


@pytest.mark.parametrize("keys", [ONE_FILE, {"layout": "split:1", "steps": 8}], ids=["one-file", "parts"])
def test_a_file_that_is_replaced_while_a_run_writes_it_is_an_error(keys: dict[str, Any], tmp_path: Path) -> None:
    stream = tailrace.open(tmp_path, "h", **keys)
    stream.dim("x", LENGTH)
    stream.var("T", ("x",), "f4")
    with stream.step(0.0) as step:
        step.put("T", np.zeros(LENGTH, "f4"), offset=(0,))
    path = tmp_path / "h.nc" if keys is ONE_FILE else next((tmp_path / "h.parts").rglob("*.nc"))
    shutil.copy(path, tmp_path / "other.nc")
    os.replace(tmp_path / "other.nc", path)
    with pytest.raises(tailrace.Error, match="no longer the file that this run writes"), stream.step(1.0) as step:
        step.put("T", np.ones(LENGTH, "f4"), offset=(0,))
    with contextlib.suppress(tailrace.Error):
        stream.close()


@pytest.mark.parametrize("durability", ["none", "close"])
@pytest.mark.parametrize("steps", [1, 2, "all"])
@pytest.mark.parametrize("layout", PRESETS)
def test_close_tells_of_what_was_removed(layout: str, steps: int | str, durability: str, tmp_path: Path) -> None:
    """Of this run. Parts of earlier runs may have been archived."""
    keys: dict[str, Any] = {"layout": layout, "steps": steps, "durability": durability}
    write(tmp_path, 2, **keys)
    stream = tailrace.open(tmp_path, "h", **keys)
    stream.dim("x", LENGTH)
    stream.var("T", ("x",), "f4", units="K")
    for number in (2, 3):
        with stream.step(float(number)) as step:
            step.put("T", np.full(LENGTH, number, "f4"), offset=(0,))
    files = sorted({*tmp_path.rglob("*.nc")} - {tmp_path / "h.nc"}) or [tmp_path / "h.nc"]
    files[-1].unlink()
    for of_step in [*tmp_path.rglob("000003")]:  # where a step has a directory
        shutil.rmtree(of_step)
    with pytest.raises(tailrace.Error, match=r"no longer (there|the file that this run writes)"):
        stream.close()


def test_parts_of_earlier_runs_may_be_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, 2, layout="fpp", steps=1)
    shutil.rmtree(tmp_path / "h.parts" / "000000")
    write(tmp_path, 2, layout="fpp", steps=1)
    problems = tailrace.verify(tmp_path, "h")["problems"]
    assert [problem["remedy"] for problem in problems] == ["repair"]
