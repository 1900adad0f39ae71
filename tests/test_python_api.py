"""import tailrace: every type and stride, what is held and for how long, errors, layouts, communicators."""

from __future__ import annotations

import builtins
import gc
import pickle
import re
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests.environment import ROOT
from tests.mpirun import Mpirun, run_within

PROGRAM = ROOT / "tests" / "python_ranks.py"
SHAPE = (6, 8)

pytestmark = pytest.mark.fast


def values(code: str, step: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """The value of each element, by a formula of (variable, step, global index); small enough for one byte."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    return ((tailrace.TYPES.index(code) * 7 + step * 31 + index * 5) % 120).astype(code)


def opened(directory: Path, **keys: Any) -> tailrace.Stream:
    stream = tailrace.open(directory, "history", **({"layout": "single", "steps": "all"} | keys))
    stream.dim("lat", SHAPE[0])
    stream.dim("lon", SHAPE[1])
    return stream


def stored(directory: Path, variable: str) -> np.ndarray:
    with h5py.File(directory / "history.nc") as file:
        return file[variable][...]


# ---- errors ----------------------------------------------------------------------------------------------------------------------


def status_lines() -> list[tuple[str, str]]:
    text = (ROOT / "include/tailrace/status.def").read_text()
    lines = re.findall(r'^TAILRACE_STATUS\((\w+), \d+, "[^"]*", (\w+)\)', text, re.MULTILINE)
    return [(name, builtin) for name, builtin in lines if name != "OK"]


@pytest.mark.parametrize(("status", "builtin"), status_lines())
def test_each_status_is_an_error_and_a_builtin(status: str, builtin: str) -> None:
    made = errors.ERRORS[status]
    assert made.__name__.upper() == status.replace("_", "")
    assert getattr(tailrace, made.__name__) is made
    assert issubclass(made, tailrace.Error)
    assert issubclass(made, getattr(builtins, builtin))
    assert made.status == status  # type: ignore[attr-defined]
    assert str(made("what, where")) == "what, where"


def test_all_statuses_have_a_class() -> None:
    assert list(errors.ERRORS) == [status for status, _ in status_lines()]


# ---- arrays ----------------------------------------------------------------------------------------------------------------------


def test_types_are_those_of_the_contract() -> None:
    text = (ROOT / "include/tailrace/types.def").read_text()
    assert list(tailrace.TYPES) == re.findall(r'^TAILRACE_TYPE\(.*"(\w+)"', text, re.MULTILINE)
    assert len(tailrace.TYPES) == 11


@pytest.mark.parametrize("code", tailrace.TYPES)
def test_each_type_is_read_back(tmp_path: Path, code: str) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), code)
        stream.var("scalar", (), code)
        for number in range(3):
            with stream.step(time=float(number)) as step:
                step.put("v", values(code, number), offset=(0, 0))
                step["scalar"] = str(number + 1) if code == "S1" else number + 1
    read = stored(tmp_path, "v")
    assert read.dtype == np.dtype(code)
    np.testing.assert_array_equal(read, np.stack([values(code, number) for number in range(3)]))
    np.testing.assert_array_equal(stored(tmp_path, "scalar"), np.array([1, 2, 3], dtype=code))
    np.testing.assert_array_equal(stored(tmp_path, "time"), [0.0, 1.0, 2.0])


def strided_views() -> dict[str, np.ndarray]:
    """Arrays that hold values("f4", 0) and are laid out in memory in every odd way."""
    wanted = values("f4", 0)
    rows, columns = SHAPE
    sparse = np.full((rows * 2, columns * 3), -1, dtype="f4")
    sparse[::2, ::3] = wanted
    record = np.zeros(SHAPE, dtype=[("tag", "u1"), ("value", "f4")])  # elements 5 bytes apart: no whole number of elements
    record["value"] = wanted
    read_only = wanted.copy()
    read_only.flags.writeable = False
    return {
        "dense": wanted,
        "transposed": np.ascontiguousarray(wanted.T).T,
        "every second and third": sparse[::2, ::3],
        "backwards": np.ascontiguousarray(wanted[::-1, ::-1])[::-1, ::-1],
        "field of a record": record["value"],
        "read-only": read_only,
    }


@pytest.mark.parametrize("name", strided_views())
def test_strided_views_are_read_back(tmp_path: Path, name: str) -> None:
    view = strided_views()[name]
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with stream.step(time=0.0) as step:
            step.put("v", view, offset=(0, 0))
    np.testing.assert_array_equal(stored(tmp_path, "v"), values("f4", 0)[np.newaxis])


def test_a_broadcast_row_is_read_back(tmp_path: Path) -> None:
    row = values("i4", 0, (SHAPE[1],))
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "i4")
        with stream.step(time=0.0) as step:
            step["v"] = np.broadcast_to(row, SHAPE)  # a stride of 0 bytes
    np.testing.assert_array_equal(stored(tmp_path, "v")[0], np.broadcast_to(row, SHAPE))


def test_several_puts_are_several_blocks(tmp_path: Path) -> None:
    whole = values("f8", 0)
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f8")
        with stream.step(time=0.0) as step:
            step.put("v", whole[:2], offset=(0, 0))
            step.put("v", whole[2:, 3:], offset=(np.int64(2), 3))
            step.put("v", whole[2:, :3], offset=(2, 0))
            step.put("v", whole[:0], offset=(0, 0))
    np.testing.assert_array_equal(stored(tmp_path, "v")[0], whole)


def test_arrays_are_held_until_the_step_has_ended(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with stream.step(time=0.0) as step:
            array = values("f4", 0).copy()
            alive = weakref.ref(array)
            step.put("v", array, offset=(0, 0))
            del array
            gc.collect()
            assert alive() is not None
        gc.collect()
        assert alive() is None
    np.testing.assert_array_equal(stored(tmp_path, "v")[0], values("f4", 0))


def test_an_abandoned_step_lets_go_of_its_arrays(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        array = values("f4", 0).copy()
        alive = weakref.ref(array)
        step = stream.step(time=0.0)
        step.__enter__()
        step.put("v", array, offset=(0, 0))
        step.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
        del array
        gc.collect()
        assert alive() is None


@pytest.mark.parametrize(
    "array",
    [np.zeros(SHAPE, dtype) for dtype in ("c8", "c16", "f2", "O", "?", "M8[s]", "U4", np.longdouble, [("a", "f4")])],
    ids=lambda array: str(array.dtype),
)
def test_other_types_are_refused(tmp_path: Path, array: np.ndarray) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with pytest.raises(TypeError, match=re.escape(str(array.dtype))) as caught, stream.step(time=0.0) as step:
            step.put("v", array, offset=(0, 0))
        assert "i1, i2, i4, i8, u1, u2, u4, u8, f4, f8" in str(caught.value)
        with pytest.raises(TypeError, match="cannot be stored"):
            stream.var("w", ("lat", "lon"), array.dtype)


def test_foreign_byte_order_is_refused_with_the_remedy(tmp_path: Path) -> None:
    foreign = values("f4", 0).astype(np.dtype("f4").newbyteorder("S"))
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with pytest.raises(TypeError, match="byte order") as caught, stream.step(time=0.0) as step:
            step.put("v", foreign, offset=(0, 0))
        assert "astype" in str(caught.value)
        with pytest.raises(TypeError, match="byte order"):
            stream.var("w", ("lat", "lon"), foreign.dtype)


def test_the_arrays_type_is_the_variables(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with pytest.raises(TypeError, match=r"'v' holds f4, the array holds f8.*astype\('f4'\)"), stream.step(time=0.0) as step:
            step.put("v", values("f8", 0), offset=(0, 0))


# ---- steps -----------------------------------------------------------------------------------------------------------------------


def bad_puts() -> dict[str, tuple[type[Exception], str, Any, Any]]:
    block = values("f4", 0)
    return {
        "dimensions": (tailrace.BadShape, "as many dimensions", block[0], (0,)),
        "offset too short": (tailrace.BadShape, "needs 2 numbers", block, (0,)),
        "outside": (tailrace.BadShape, "v", block, (1, 0)),
        "negative": (tailrace.BadArgument, "negative", block[:1], (-1, 0)),
        "no offset": (tailrace.BadArgument, "needs offset", block[:2], None),
        "overlap with itself": (tailrace.BlockOverlap, "v", np.zeros(SHAPE, "f4"), (0, 0)),
    }


def put_twice_if(twice: bool, step: tailrace.Step, block: Any, offset: Any) -> None:
    if twice:
        step.put("v", block[:1], offset)
    step.put("v", block, offset)


@pytest.mark.parametrize("name", bad_puts())
def test_a_bad_put_drops_the_step_and_nothing_else(tmp_path: Path, name: str) -> None:
    expected, text, block, offset = bad_puts()[name]
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with stream.step(time=0.0) as step:
            step["v"] = values("f4", 0)
        with pytest.raises(expected, match=text), stream.step(time=1.0) as step:
            put_twice_if(expected is tailrace.BlockOverlap, step, block, offset)
        assert stream.step_count == 1
        with stream.step(time=2.0) as step:
            step["v"] = values("f4", 2)
        assert stream.step_count == 2
    np.testing.assert_array_equal(stored(tmp_path, "v"), np.stack([values("f4", 0), values("f4", 2)]))
    np.testing.assert_array_equal(stored(tmp_path, "time"), [0.0, 2.0])


def test_a_gap_needs_a_fill_value(tmp_path: Path) -> None:
    whole = values("f4", 0)
    with opened(tmp_path) as stream:
        stream.var("whole", ("lat", "lon"), "f4")
        with pytest.raises(tailrace.BlockGap, match="whole"), stream.step(time=0.0) as step:
            step.put("whole", whole[:5], offset=(0, 0))
    with opened(tmp_path, mode="replace") as stream:
        stream.var("holed", ("lat", "lon"), "f4", fill_value=-9)
        with stream.step(time=0.0) as step:
            step.put("holed", whole[:5], offset=(0, 0))
    expected = whole.copy()
    expected[5] = -9
    np.testing.assert_array_equal(stored(tmp_path, "holed")[0], expected)


def test_an_exception_abandons_the_step(tmp_path: Path) -> None:
    def fail_after_put(stream: tailrace.Stream) -> None:
        with stream.step(time=0.0) as step:
            step["v"] = values("f4", 0)
            raise KeyError("the model's own")

    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with pytest.raises(KeyError, match="the model's own"):
            fail_after_put(stream)
        assert stream.step_count == 0
        with stream.step(time=1.0) as step:
            step["v"] = values("f4", 1)
    np.testing.assert_array_equal(stored(tmp_path, "v"), values("f4", 1)[np.newaxis])


def test_names_that_are_not_defined(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with pytest.raises(LookupError, match=r"variable 'w' is not defined; defined are: v"), stream.step(time=0.0) as step:
            step["w"] = 1.0
        with pytest.raises(tailrace.Error, match="height"):
            stream.var("w", ("height",), "f4")


def test_a_closed_stream(tmp_path: Path) -> None:
    stream = opened(tmp_path)
    assert not stream.closed
    stream.close()
    stream.close()
    assert stream.closed
    with pytest.raises(tailrace.BadOrder, match="'history' is closed"):
        stream.dim("x", 3)
    with pytest.raises(tailrace.BadOrder, match="closed"), stream.step(time=0.0):
        pass


def test_a_stream_that_nobody_closes_is_reported(tmp_path: Path) -> None:
    stream = opened(tmp_path)
    with pytest.warns(ResourceWarning, match="'history' was not closed"):
        stream.__del__()
    stream.close()


def test_coordinates_and_attributes(tmp_path: Path) -> None:
    latitudes = np.linspace(-75.0, 75.0, SHAPE[0])
    with opened(tmp_path) as stream:
        stream.coord("lat", latitudes, units="degrees_north")
        stream.coord("level", np.arange(3, dtype="i2"), positive="down")  # defines its dimension
        stream.coord("area", values("f8", 0), dims=("lat", "lon"))
        stream.attributes(title="a run", version=3, big=2**40, weights=[0.5, 1.5])
        stream.attributes("time", units="seconds since 2000-01-01")
        stream.var("v", ("lat", "lon"), "i2", fill_value=-1, valid_range=[0, 119], scale_factor=0.1, long_name="values")
        with stream.step(time=5.0) as step:
            step["v"] = values("i2", 0)
    with h5py.File(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["lat"][...], latitudes)
        np.testing.assert_array_equal(file["level"][...], [0, 1, 2])
        np.testing.assert_array_equal(file["area"][...], values("f8", 0))
        expected: dict[str, tuple[str, Any]] = {"version": ("i4", 3), "big": ("i8", 2**40), "weights": ("f8", [0.5, 1.5])}
        for name, (code, value) in expected.items():
            assert file.attrs[name].dtype == np.dtype(code)
            np.testing.assert_array_equal(np.ravel(file.attrs[name]), np.ravel(value))
        attributes = file["v"].attrs
        assert attributes["_FillValue"].dtype == attributes["valid_range"].dtype == np.dtype("i2")
        assert attributes["scale_factor"].dtype == np.dtype("f8")
        texts = {"lat": ("units", "degrees_north"), "level": ("positive", "down"), "v": ("long_name", "values")}
        for variable, (name, text) in texts.items():
            assert np.bytes_(file[variable].attrs[name]).decode() == text
        assert np.bytes_(file["time"].attrs["units"]).decode() == "seconds since 2000-01-01"


def test_bad_attributes(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "u1")
        with pytest.raises(tailrace.BadAttribute, match="scale"):
            stream.attributes("v", scale=float("nan"))
        with pytest.raises(TypeError, match="'flag' is True"):
            stream.attributes("v", flag=True)
        with pytest.raises(TypeError, match="does not fit the variable's type u1"):
            stream.attributes("v", _FillValue=-1)
        with pytest.raises(TypeError, match="complex"):
            stream.attributes("v", z=np.complex64(1))


def test_the_report_has_requested_and_effective_values(tmp_path: Path) -> None:
    with opened(tmp_path, durability="close") as stream:
        report = stream.report()
    assert "durability" in report["requested"]
    assert report["effective"]["durability"] == "close"


def test_appending_across_opens(tmp_path: Path) -> None:
    for number in range(2):
        with opened(tmp_path) as stream:
            stream.var("v", ("lat", "lon"), "f4")
            assert stream.step_count == number
            with stream.step(time=float(number)) as step:
                step["v"] = values("f4", number)
    np.testing.assert_array_equal(stored(tmp_path, "v"), np.stack([values("f4", 0), values("f4", 1)]))


# ---- layouts ---------------------------------------------------------------------------------------------------------------------


def test_layout_fields_are_the_librarys_keys() -> None:
    names = [key["name"] for key in tailrace.keys()["keys"]]
    layout = tailrace.Layout()
    assert [name for name in names if name != "layout"] == list(layout.__dataclass_fields__)
    effective = tailrace.describe_layout()["layout"]
    assert all(str(getattr(layout, name)) == effective[name] for name in layout.__dataclass_fields__)


def test_every_preset_is_a_layout() -> None:
    presets = {preset["name"]: preset for preset in tailrace.keys()["presets"]}
    assert {"single", "fpp", "hds", "shared", "split:N", "node", "collective", "scratch"} <= presets.keys()
    for name in ("single", "fpp", "hds", "shared", "scratch"):
        assert tailrace.Layout(name) == tailrace.Layout(**presets[name]["keys"])


def test_layouts_are_values() -> None:
    layout = tailrace.Layout("hds", steps="all")
    assert layout == tailrace.Layout("hds").replace(steps="all") != tailrace.Layout("hds")
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert dict(layout.given) == {"layout": "hds", "steps": "all"}
    assert layout.toml() == 'layout = "hds"\nsteps = "all"\n'
    with pytest.raises(AttributeError):
        layout.steps = 1
    assert "steps='all'" in repr(layout)
    assert tailrace.Layout(files=4).files == 4


def test_a_layout_and_its_keys_open_the_same(tmp_path: Path) -> None:
    reports = []
    for number, layout in enumerate((tailrace.Layout("hds", steps=2), {"layout": "hds", "steps": 2}, "hds")):
        with opened(tmp_path / str(number), layout=layout, steps=2) as stream:
            reports.append(stream.report()["effective"])
    assert reports[0] == reports[1] == reports[2]


@pytest.mark.parametrize("make", [tailrace.Layout, lambda **keys: tailrace.open("unused", "history", **keys)])
def test_bad_keys_and_values(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tailrace.BadConfig, match="filez"):
        make(filez=4)
    with pytest.raises(tailrace.BadConfig, match="writers"):
        make(writers="everyone")
    assert not (tmp_path / "unused").exists()


# ---- without a stream ------------------------------------------------------------------------------------------------------------


def test_plan_counts_files_and_bytes() -> None:
    variables = [{"name": "T", "type": "f4", "shape": [16, 32], "grid": [8, 1]}]
    answer = tailrace.plan(variables, ranks=8, nodes=2, steps=3, layout="fpp")
    assert (answer["ranks"], answer["nodes"], answer["steps"]) == (8, 2, 3)
    assert answer["files"] >= 8 * 3
    assert answer["writers"] == 8
    assert answer["bytes"] == 16 * 32 * 4 * 3 + 8 * answer["files"]  # each part has its step's time
    assert answer["messages"] == 0
    with pytest.raises(tailrace.Error, match="T"):
        tailrace.plan([{**variables[0], "grid": [5, 1]}], ranks=8)


def test_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    records = [{"step": number, "text": "ä\n"} for number in range(3)]
    for record in records:
        tailrace.journal_append(path, record, sync=True)
    read, torn_bytes = tailrace.journal_read(path)
    assert [{key: line[key] for key in ("step", "text")} for line in read] == records
    assert torn_bytes == 0
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    read, torn_bytes = tailrace.journal_read(path)
    assert [line["step"] for line in read] == [0, 1]
    assert torn_bytes == len(whole[:-4]) - len(b"".join(whole.splitlines(keepends=True)[:2]))


def test_list_and_verify(tmp_path: Path) -> None:
    with opened(tmp_path) as stream:
        stream.var("v", ("lat", "lon"), "f4")
        with stream.step(time=7.0) as step:
            step["v"] = values("f4", 0)
    [described] = tailrace.list_streams(tmp_path)
    assert described["name"] == "history"
    assert [step["time"] for step in described["steps"]] == [7.0]
    assert {"name": "v", "type": "f4"}.items() <= next(v for v in described["variables"] if v["name"] == "v").items()
    answer = tailrace.verify(tmp_path, "history", deep=True)
    assert answer["ok"]
    assert answer["steps"] == 1
    with pytest.raises(tailrace.NotFound, match="plot"):
        tailrace.verify(tmp_path, "plot")


# ---- ranks and communicators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", ["single", "fpp", "hds", "shared"])
def test_rows_of_several_ranks_are_read_back(mpirun: Mpirun, tmp_path: Path, layout: str, ranks: int) -> None:
    mpirun(PROGRAM, ranks, ["rows", tmp_path, layout])
    np.testing.assert_array_equal(stored(tmp_path, "v"), np.stack([values("f4", number) for number in range(3)]))


SEVERAL_RANKS = [("alone", 2), ("attribute", 2), ("reading", 2), ("reading", 3), ("communicators", 2), ("threads", 2)]


@pytest.mark.parametrize(("case", "ranks"), SEVERAL_RANKS)
def test_several_ranks(mpirun: Mpirun, tmp_path: Path, case: str, ranks: int) -> None:
    assert mpirun(PROGRAM, ranks, [case, tmp_path]).stdout.count("passed") == ranks


def test_without_mpi4py(tmp_path: Path) -> None:
    """The extension initialises and finalises MPI by itself."""
    program = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import tailrace\n"
        "with tailrace.open(sys.argv[1], 'history') as stream: print(stream.step_count)\n"
    )
    finished = run_within([sys.executable, "-c", program, str(tmp_path)], {"PYTHONPATH": str(ROOT / "python")})
    assert (finished.returncode, finished.stdout) == (0, "0\n"), finished.output


def test_what_is_no_communicator() -> None:
    with pytest.raises(TypeError, match="comm is a str"):
        tailrace.open("unused", "history", comm="world")


def test_importing_initialises_no_mpi() -> None:
    """`tailrace ls` must run where MPI does not."""
    program = "import tailrace.cli, sys; print('mpi4py' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT / "python")}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
