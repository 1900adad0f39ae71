"""Names in two forms of Unicode, and variables with the name of a dimension: files have what netCDF has, readers find it."""

from __future__ import annotations

import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
import xarray
from tailrace import errors

from tests.presets import PRESETS_WITH_SCRATCH

COMPOSED, DECOMPOSED = "höhe", unicodedata.normalize("NFD", "höhe")
SPELLINGS = (COMPOSED, DECOMPOSED)
STEPS = 2
LAYOUTS: dict[str, dict[str, Any]] = {
    "default": {},
    **{preset: {"layout": preset} for preset in PRESETS_WITH_SCRATCH},
    "fpp, all steps": {"layout": "fpp", "steps": "all"},
}

pytestmark = pytest.mark.fast


def output_of(*words: str | Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["..", "../../up", "a/b", ".hidden", "a\nb", "a\x1b[2J", "n" * 201, "\xe9" * 101, ""])
def test_a_stream_stays_in_its_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.BadArgument, match="cannot be a file name"):
        tailrace.open(tmp_path / "a" / "b", name)
    assert list(tmp_path.rglob("*")) == []
    (tmp_path / "a").mkdir()
    if "/" in name:
        with pytest.raises(errors.BadArgument, match="give the directory that contains the stream"):
            tailrace.open_read(tmp_path / "a", name)


# ---- names in Unicode -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("spelling", SPELLINGS, ids=["composed", "decomposed"])
def test_plain_tools_find_a_name_in_either_form(tmp_path: Path, layout: str, spelling: str) -> None:
    values = np.arange(3, dtype="f4")
    with tailrace.open(tmp_path / "out", "history", **LAYOUTS[layout]) as stream:
        stream.dim(spelling + "_x", 3)
        stream.var(spelling, (spelling + "_x",), "f4")
        stream.attributes(spelling, **{"Einheit_" + spelling: "K"})
        stream.attributes(spelling, valid_min=-1)  # in the variable's type
        with stream.step(0.0) as step:
            step.put(spelling, values)
    combined = tmp_path / "one.nc"
    tailrace.combine(tmp_path / "out", "history", combined)
    for file in (tmp_path / "out" / "history.nc", combined):
        for asked in SPELLINGS:
            assert "0, 1, 2" in output_of("ncdump", "-v", asked, file)
            assert "0, 1, 2" in output_of("ncks", "-v", COMPOSED, file)
        with netCDF4.Dataset(file) as opened:
            assert opened[COMPOSED].dimensions == ("time", COMPOSED + "_x")
            assert opened[COMPOSED].getncattr("Einheit_" + COMPOSED) == "K"
            assert opened[COMPOSED].valid_min.dtype == np.float32
    with tailrace.open_read(tmp_path / "out", "history") as reader:
        for asked in SPELLINGS:
            np.testing.assert_array_equal(reader.get(asked), values)
            np.testing.assert_array_equal(reader.get_shared(asked), values)


@pytest.mark.parametrize("first", SPELLINGS, ids=["composed", "decomposed"])
def test_two_names_that_are_one_are_refused(tmp_path: Path, first: str) -> None:
    second = SPELLINGS[1 - SPELLINGS.index(first)]
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.dim(first, 2)
        stream.var("T" + first, (second,), "f4")
        for define in (lambda: stream.dim(second, 2), lambda: stream.var("T" + second, (first,), "f4")):
            with pytest.raises(errors.BadArgument, match=f"{COMPOSED}' is defined twice") as refused:
                define()
            assert ("NFC" in str(refused.value)) == (second == DECOMPOSED)
        stream.attributes("T" + first, **{first: 1, second: 2})
        with stream.step(0.0) as step:
            step.put("T" + second, np.zeros(2, "f4"))
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file["T" + COMPOSED].getncattr(COMPOSED) == 2


def test_a_run_that_appends_may_spell_a_name_in_another_way(tmp_path: Path) -> None:
    for run, spelling in enumerate(SPELLINGS):
        with tailrace.open(tmp_path, "history", layout="fpp") as stream:
            stream.dim(spelling, 2)
            stream.var("T" + spelling, (spelling,), "f4")
            with stream.step(float(run)) as step:
                step.put("T" + spelling, np.full(2, run, "f4"))
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file["T" + COMPOSED][:].tolist() == [[0, 0], [1, 1]]


# ---- variables with the name of a dimension -------------------------------------------------------------------------------------

Z, Y = 3, 2
NAMES = np.array([b"top", b"mid", b"bottom"], "S8")
KINDS: dict[str, tuple[tuple[str, ...], Callable[[int], Any], dict[str, Any]]] = {
    "z(time, z)": (("z",), lambda step: np.arange(Z, dtype="f4") + 10 * step, {}),
    "z(time, z) of every rank": (("z",), lambda step: np.arange(Z, dtype="f4") + 10 * step, {"replicated": True}),
    "z(y, z)": (("y", "z"), lambda step: np.arange(Y * Z, dtype="f4").reshape(Y, Z), {"static": True}),
    "z(z, y)": (("z", "y"), lambda step: np.arange(Y * Z, dtype="f4").reshape(Z, Y), {"static": True}),
    "z(time, y, z)": (("y", "z"), lambda step: np.arange(Y * Z, dtype="f4").reshape(Y, Z) - step, {}),
    "z(z) in blocks": (("z",), lambda step: np.arange(Z, dtype="f4"), {"static": True}),
    "z(y)": (("y",), lambda step: np.arange(Y, dtype="f4"), {"static": True, "replicated": True}),
    "z of texts": (("z",), lambda step: NAMES, {"static": True}),
    "z of texts of every rank": (("z",), lambda step: NAMES, {"static": True, "replicated": True}),
    "z": ((), lambda step: np.int32(7 + step), {}),
}


def write_kind(folder: Path, kind: str, first: int = 0, **options: Any) -> None:
    dims, values, flags = KINDS[kind]
    with tailrace.open(folder, "history", **options) as stream:
        stream.dim("z", Z)
        stream.dim("y", Y)
        stream.var("T", ("y", "z"), "f4")
        stream.var("z", dims, values(0).dtype, units="m", **flags)
        for number in range(first, first + STEPS):
            with stream.step(float(number)) as step:
                step.put("T", np.full((Y, Z), number, "f4"))
                if number == 0 or not flags.get("static"):
                    step.put("z", values(number))


def expected(kind: str, steps: int) -> tuple[tuple[str, ...], np.ndarray]:
    """The dimensions and values that a reader of NetCDF sees; texts as characters."""
    dims, values, flags = KINDS[kind]
    seen = values(0) if flags.get("static") else np.stack([values(step) for step in range(steps)])
    dims = dims if flags.get("static") else ("time", *dims)
    if seen.dtype.kind == "S":
        return (*dims, "string8"), seen[..., None].view("S1")
    return dims, seen


def check_file(file: Path, kind: str, steps: int = STEPS) -> None:
    dims, values = expected(kind, steps)
    with netCDF4.Dataset(file) as opened:
        opened.set_auto_chartostring(False)
        assert set(opened.variables) == {"T", "z", "time"}
        assert (opened["z"].dimensions, opened["z"].units) == (dims, "m")
        np.testing.assert_array_equal(np.asarray(opened["z"][:]), values)
        assert opened["T"].dimensions == ("time", "y", "z")
        np.testing.assert_array_equal(opened["T"][:, 0, 0], np.arange(steps))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_with_the_name_of_a_dimension(tmp_path: Path, kind: str, layout: str) -> None:
    out, combined, converted = tmp_path / "out", tmp_path / "one.nc", tmp_path / "converted"
    write_kind(out, kind, **LAYOUTS[layout])
    check_file(out / "history.nc", kind)
    for part in (out / "history.parts").rglob("history.*.nc"):
        with netCDF4.Dataset(part) as opened:
            assert "z" in opened.variables or KINDS[kind][2].get("static")
    tailrace.combine(out, "history", combined)
    check_file(combined, kind)
    tailrace.convert(out, "history", converted, layout="single" if layout == "fpp" else "fpp")
    check_file(converted / "history.nc", kind)
    with tailrace.open_read(out, "history") as reader:
        np.testing.assert_array_equal(reader.get("z"), KINDS[kind][1](STEPS - 1))
    assert tailrace.verify(out, "history", deep=True)["problems"] == []


@pytest.mark.parametrize("layout", ["default", "fpp", "single"])
def test_runs_append_to_it(tmp_path: Path, layout: str) -> None:
    for first in (0, STEPS):
        write_kind(tmp_path, "z(time, z)", first, **LAYOUTS[layout])
    check_file(tmp_path / "history.nc", "z(time, z)", 2 * STEPS)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_tools_read_it(tmp_path: Path, kind: str) -> None:
    write_kind(tmp_path, kind, layout="fpp")
    index, copy = tmp_path / "history.nc", tmp_path / "copy.nc"
    dims, values = expected(kind, STEPS)
    shown = output_of("ncdump", "-v", "z", index)
    assert f" z({', '.join(dims)}) ;" in shown if dims else " z ;" in shown
    assert "_nc4_non_coord_" not in shown
    # To NetCDF-4 the nccopy of netCDF 4.9.0 copies no virtual dataset with unlimited time (docs/python.md).
    for command in (("nccopy", "-k", "cdf5", index, copy), ("ncks", "-O", "--cnk_plc=uck", index, copy)):
        output_of(*command)
        check_file(copy, kind)
    with h5py.File(index) as file:
        assert "_nc4_non_coord_z" in file
    if dims:  # xarray allows no scalar with the name of a dimension
        with xarray.open_dataset(index, decode_times=False) as data:
            assert data["z"].dims == tuple(dim for dim in dims if dim != "string8")
            np.testing.assert_array_equal(data["z"].values, NAMES if "texts" in kind else values)


def test_it_has_boxes_in_one_part(tmp_path: Path) -> None:
    values = np.arange(40.0).reshape(5, 8)
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.dim("lev", 5)
        stream.dim("x", 8)
        stream.var("x", ("lev", "x"), "f8")
        with stream.step(0.0) as step:
            step.put("x", values[:2], offset=(0, 0))
            step.put("x", values[2:, :4], offset=(2, 0))
            step.put("x", values[2:, 4:], offset=(2, 4))
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["x"][0], values)
    with tailrace.open_read(tmp_path, "history") as reader:
        np.testing.assert_array_equal(reader.get("x"), values)


def test_it_may_be_ragged(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.dim("obs", tailrace.RAGGED)
        stream.var("obs", ("obs",), "i4")
        for number in range(STEPS):
            with stream.step(float(number)) as step:
                step.put("obs", np.arange(number + 1, dtype="i4"))
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file["obs"][:].tolist() == [0, 0, 1]


def test_attributes_that_another_program_has_changed_are_taken_over(tmp_path: Path) -> None:
    write_kind(tmp_path, "z(time, z)")
    output_of("ncatted", "-a", "units,z,o,c,km", tmp_path / "history.nc")
    changed = tailrace.adopt(tmp_path, "history")["changed"]
    assert [(one["variable"], one["now"]) for one in changed if one["attribute"] == "units"] == [("z", "'km'")]


def test_a_later_run_gives_no_dimension_the_name_of_a_variable(tmp_path: Path) -> None:
    def run(more: bool, number: int) -> None:
        with tailrace.open(tmp_path, "history", layout="fpp") as stream:
            stream.dim("x", 2)
            if more:
                stream.dim("T", 3)
            stream.var("T", ("x",), "f4")
            if more:
                stream.var("U", ("T",), "f4")
            with stream.step(float(number)) as step:
                step.put("T", np.zeros(2, "f4"))
                if more:
                    step.put("U", np.zeros(3, "f4"))

    run(False, 0)
    with pytest.raises(errors.BadShape, match="dimension 'T' is new and has the name of a variable that is there"):
        run(True, 1)
