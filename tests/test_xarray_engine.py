"""xarray.open_dataset(path, engine="tailrace"): the same dataset as through netCDF, lazily, and errors instead of fill values."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import dask
import distributed
import numpy as np
import pytest
import tailrace
import xarray
from tailrace import errors
from tailrace.xarray_engine import TailraceBackendEntrypoint

from tests import written
from tests.environment import HANGS_S, ROOT
from tests.matrix import SMALL, Case
from tests.mpirun import Mpirun, run_within

fast = pytest.mark.fast
SHAPE = (6, 8)
STEPS = 5
TIMES = tuple(6.0 * number for number in range(STEPS))


def value(step: int) -> np.ndarray:
    return (np.arange(48).reshape(SHAPE) + 100 * step).astype("f4")


def write(directory: Path, name: str = "h", times: Sequence[float] = TIMES, **keys: Any) -> Path:
    options: dict[str, Any] = {"layout": "fpp", "steps": 1} | keys
    with tailrace.open(directory, name, **options) as stream:
        stream.coord("lat", np.linspace(-75.0, 75.0, SHAPE[0]), units="degrees_north")
        stream.dim("lon", SHAPE[1])
        stream.attributes("time", units="hours since 2000-01-01", calendar="standard")
        stream.attributes(title="a title", levels=[1, 2, 3], ratio=0.5)
        stream.var("T", ("lat", "lon"), "f4", units="K", fill_value=-1.0)
        stream.var("packed", ("lon",), "i2", scale_factor=0.5, add_offset=10.0)
        stream.var("mask", ("lat", "lon"), "i1", static=True)
        stream.var("mass")
        for number, time in enumerate(times):
            with stream.step(time) as step:
                step["T"] = value(number)
                step["packed"] = np.arange(8, dtype="i2") + number
                step["mass"] = 1.5 * number
                if number == 0:
                    step["mask"] = np.ones(SHAPE, "i1")
    return directory / f"{name}.nc"


def opened(path: Path, **choices: Any) -> xarray.Dataset:
    return xarray.open_dataset(path, engine=TailraceBackendEntrypoint, **choices)


def same(ours: xarray.Dataset, theirs: xarray.Dataset) -> None:
    theirs.attrs = {name: text for name, text in theirs.attrs.items() if not name.startswith("tailrace_")}  # of the file
    xarray.testing.assert_identical(ours.load(), theirs.load())
    assert ours.encoding["unlimited_dims"] == theirs.encoding["unlimited_dims"]
    assert {name: v.dtype for name, v in ours.variables.items()} == {name: v.dtype for name, v in theirs.variables.items()}


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"steps": 2},
    {"layout": "single", "steps": "all"},
    {"layout": "hds"},
    {"steps": "all", "compression": "deflate"},
]


@fast
@pytest.mark.parametrize("keys", LAYOUTS, ids=str)
@pytest.mark.parametrize("choices", [{}, {"decode_cf": False}, {"mask_and_scale": False, "drop_variables": ["mass"]}], ids=str)
def test_is_what_netcdf_shows(tmp_path: Path, keys: dict[str, Any], choices: dict[str, Any]) -> None:
    path = write(tmp_path, **keys)
    with opened(path, **choices) as ours, xarray.open_dataset(path, engine="netcdf4", **choices) as theirs:
        same(ours, theirs)
    with opened(tmp_path, verify=True, **choices) as ours, xarray.open_dataset(path, engine="netcdf4", **choices) as theirs:
        same(ours, theirs)


@pytest.mark.parametrize("variables", ["climate", "types"])
@pytest.mark.parametrize(
    ("preset", "steps", "decomposition"), [("fpp", "1", "blocks3d"), ("split:2", "2", "irregular"), ("node", "'all'", "amr")]
)
def test_is_what_netcdf_shows_of_several_ranks(
    mpirun: Mpirun, tmp_path: Path, preset: str, steps: str, decomposition: str, variables: str
) -> None:
    case = Case(preset, steps, 2, 4, decomposition, "dense", variables)
    path = written.write(mpirun, tmp_path, case, SMALL, 3)
    for verify in (False, True):
        with opened(path, verify=verify) as ours, xarray.open_dataset(path, engine="netcdf4") as theirs:
            same(ours, theirs)


def test_reads_more_parts_than_it_may_open_files(mpirun: Mpirun, tmp_path: Path) -> None:
    """A step of 12 parts, by a process that may open 26 files: each part takes two."""
    case = Case("fpp", "'all'", 0, 12, "rows", "dense", "climate")
    path = written.write(mpirun, tmp_path, case, SMALL, 2)
    look = (
        "import resource, sys, xarray\n"
        "from tailrace.xarray_engine import TailraceBackendEntrypoint as engine\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (26, 26))\n"
        "with xarray.open_dataset(sys.argv[1], engine=engine) as dataset:\n"
        "    dataset.load()\n"
        "    print(len(dataset.variables))\n"
    )
    shown = run_within([sys.executable, "-c", look, str(path)], {"PYTHONPATH": str(ROOT / "python")})
    assert shown.returncode == 0, shown.output
    with opened(path) as dataset:
        assert int(shown.stdout) == len(dataset.variables)


def random_key(rng: Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    def one(length: int) -> Any:
        kind = rng.choice(["int", "slice", "slice", "list", "all"])
        if kind == "int":
            return rng.randrange(-length, length)
        if kind == "list":
            return [rng.randrange(length) for _ in range(rng.randrange(0, 5))]
        if kind == "all":
            return slice(None)
        begin, end = (rng.choice([None, rng.randrange(-length, length + 1)]) for _ in range(2))
        chosen = slice(begin, end, rng.choice([None, 1, 2, 3, -1, -2]))
        return chosen if range(length)[chosen] else slice(0, 0)  # xarray itself fails for some that are empty

    return tuple(one(length) for length in shape)


@fast
def test_reads_any_part(tmp_path: Path, rng: Random) -> None:
    whole = np.stack([value(step) for step in range(STEPS)])
    with opened(write(tmp_path), decode_times=False) as dataset:
        for _ in range(150):
            key = random_key(rng, whole.shape)
            expected = whole
            for axis in range(2, -1, -1):
                expected = expected[(slice(None),) * axis + (key[axis],)]
            np.testing.assert_array_equal(dataset["T"][key].values, expected, err_msg=str(key))
        np.testing.assert_array_equal(dataset["T"].sel(lat=75.0, time=12.0).values, whole[2, -1])
        points = xarray.DataArray([0, 3, 5], dims="p")
        np.testing.assert_array_equal(dataset["T"].isel(lat=points, lon=points).values, whole[:, [0, 3, 5], [0, 3, 5]])


@fast
def test_reads_nothing_before_it_is_asked(tmp_path: Path) -> None:
    path = write(tmp_path)
    for part in (tmp_path / "h.parts").rglob("*.nc"):
        part.unlink()
    dataset = opened(path)
    assert dataset.sizes == {"time": STEPS, "lat": 6, "lon": 8}
    assert dataset.encoding["unlimited_dims"] == {"time"}
    with pytest.raises(errors.Error):
        dataset["T"].load()


@fast
def test_decodes_times(tmp_path: Path) -> None:
    with opened(write(tmp_path)) as dataset:
        assert dataset["time"].values[1] == np.datetime64("2000-01-01T06:00")
        assert dataset["T"].sel(time="2000-01-01T12:00").values[0, 0] == 200
    with opened(tmp_path, use_cftime=True) as dataset:
        assert dataset["time"].values[1].isoformat() == "2000-01-01T06:00:00"


@fast
@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
def test_a_damaged_part_is_an_error(tmp_path: Path, damage: str) -> None:
    path = write(tmp_path)
    part = sorted((tmp_path / "h.parts").rglob("*.nc"))[2]
    data = bytearray(part.read_bytes())
    if damage == "missing":
        part.unlink()
    elif damage == "cut":
        part.write_bytes(data[: data.index(value(2).tobytes()) + 20])
    else:
        data[data.index(value(2).tobytes()) + 9] ^= 1
        part.write_bytes(data)
    with opened(path, verify=True) as dataset:
        np.testing.assert_array_equal(dataset["T"][1].values, value(1))
        with pytest.raises(errors.Error, match=part.name):
            dataset["T"].values  # noqa: B018  reading is what is tried
        np.testing.assert_array_equal(dataset["T"][3:].values, [value(3), value(4)])
    with tailrace.open_read(tmp_path, "h", verify=True) as reader:
        reader.select(2)
        with pytest.raises(errors.Error, match=part.name):
            reader.get("T")


@fast
def test_cannot_verify_what_has_no_checksums(tmp_path: Path) -> None:
    path = write(tmp_path, checksum=False)
    with opened(path, verify=True) as dataset, pytest.raises(errors.Unsupported, match="has no checksums"):
        dataset["T"].load()
    with opened(path) as dataset:
        np.testing.assert_array_equal(dataset["T"][4].values, value(4))


@fast
def test_directory_of_one_stream_and_of_several(tmp_path: Path) -> None:
    write(tmp_path, "one")
    assert opened(tmp_path).sizes["time"] == STEPS
    write(tmp_path, "two")
    with pytest.raises(errors.BadArgument, match="has several streams: one, two; choose one"):
        opened(tmp_path)
    assert opened(tmp_path, stream="two").sizes["time"] == STEPS
    with pytest.raises(errors.BadArgument, match="is not of stream 'two'"):
        opened(tmp_path / "one.nc", stream="two")
    with pytest.raises(errors.NotFound, match="there is no stream 'three'"):
        opened(tmp_path / "three.nc")
    guess = TailraceBackendEntrypoint().guess_can_open
    assert [guess(tmp_path), guess(tmp_path / "one.nc"), guess(tmp_path / "x.nc"), guess(b"CDF")] == [True, True, False, False]


@fast
def test_dask_reads_in_two_threads(tmp_path: Path) -> None:
    whole = np.stack([value(step) for step in range(STEPS)])
    for chunks in ({}, {"time": 2, "lat": 4}, "auto"):
        with (
            opened(write(tmp_path / str(len(str(chunks)))), chunks=chunks) as dataset,
            dask.config.set(scheduler="threads", num_workers=2),
        ):
            assert dataset["T"].chunks is not None
            np.testing.assert_array_equal(dataset["T"].values, whole)
            assert float(dataset["T"].mean()) == pytest.approx(float(whole.mean()))


@fast
def test_chunks_are_at_most_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where a step is large, pieces of it that have a bounded size."""
    path = write(tmp_path)
    with opened(path, chunks={}) as dataset:
        assert dataset["T"].chunks == ((1,) * STEPS, (6,), (8,))
    monkeypatch.setattr("tailrace.xarray_engine.MOST_CHUNK_BYTES", 64)  # two rows of T, one element a row of nothing smaller
    with opened(path, chunks={}) as dataset:
        assert dataset["T"].chunks == ((1,) * STEPS, (2, 2, 2), (8,))
        assert dataset["mask"].chunks == ((6,), (8,))
        np.testing.assert_array_equal(dataset["T"].values, [value(step) for step in range(STEPS)])
    monkeypatch.setattr("tailrace.xarray_engine.MOST_CHUNK_BYTES", 20)
    with opened(path, chunks={}) as dataset:
        assert dataset["T"].chunks == ((1,) * STEPS, (1,) * 6, (5, 3))
        assert float(dataset["T"].mean()) == pytest.approx(float(np.mean([value(step) for step in range(STEPS)])))


@fast
def test_chunks_of_a_ragged_dimension_are_its_steps(tmp_path: Path) -> None:
    lengths = [3, 0, 2]
    with tailrace.open(tmp_path, "h", layout="fpp", steps=1) as stream:
        stream.dim("drop", tailrace.RAGGED)
        stream.var("radius", ("drop",), "f8")
        for number, length in enumerate(lengths):
            with stream.step(float(number)) as step:
                step.put("radius", np.full(length, float(number)), offset=(0,))
    with opened(tmp_path, chunks={}) as dataset:
        assert dataset["radius"].chunks == ((3, 2),)
        assert dataset["radius"].values.tolist() == [0, 0, 0, 2, 2]


def test_dask_distributed_reads_in_its_workers(tmp_path: Path) -> None:
    path = write(tmp_path)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster),
        opened(path, chunks={}) as dataset,
    ):
        assert sums(dataset) == float(sum(value(step).sum() for step in range(STEPS)))
        (tmp_path / "h.parts" / "000002").rename(tmp_path / "elsewhere")
        with pytest.raises(errors.Error, match="000002"):
            dataset["T"].values  # noqa: B018  reading is what is tried


def sums(dataset: xarray.Dataset) -> float:
    return float(dataset["T"].sum())


@fast
def test_goes_to_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    dataset = opened(Path("out/h.nc"))
    expected = float(sum(value(step).sum() for step in range(STEPS)))
    monkeypatch.chdir("/")
    assert sums(pickle.loads(pickle.dumps(dataset))) == expected
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(sums, dataset).result(timeout=200) == expected


def open_files() -> list[str]:
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return [os.readlink(link) for link in links if os.path.lexists(link)]


@fast
def test_close_lets_go_of_the_files(tmp_path: Path) -> None:
    dataset = opened(write(tmp_path))
    dataset["T"].load()
    assert any(str(tmp_path) in path for path in open_files())
    dataset.close()
    dataset.close()
    assert not any(str(tmp_path) in path for path in open_files())
    assert float(dataset["mass"][4]) == 6.0  # as with xarray's own engines: opened again
    dataset.close()


@fast
def test_says_that_the_stream_was_written_anew(tmp_path: Path) -> None:
    dataset = opened(write(tmp_path))
    dataset.close()
    tailrace.rewind(tmp_path, "h", steps=2)
    write(tmp_path, times=[19.0])
    np.testing.assert_array_equal(dataset["T"][2].values, value(2))
    with pytest.raises(errors.NotFound, match="written anew; open it again"):
        dataset["T"][3].load()
    with pytest.raises(errors.NotFound, match="has no step 4"):
        dataset["T"][4].load()


@fast
def test_strings_ragged_lengths_and_new_variables(tmp_path: Path) -> None:
    def run(names: tuple[str, ...], first: int) -> None:
        with tailrace.open(tmp_path, "h", layout="fpp", steps=1) as stream:
            stream.dim("drop", tailrace.RAGGED)
            stream.dim("station", 2)
            for name in names:
                stream.var(name, ("drop",) if name == "radius" else ("station",), "S4" if name == "label" else "f8")
            for number in range(first, first + 2):
                with stream.step(float(number)) as step:
                    for name in names:
                        if name == "radius":
                            step.put(name, np.arange(number + 1.0) + 10 * number, offset=(0,))
                        elif name == "label":
                            step[name] = np.array([b"ab", b"abcd"], "S4")
                        else:
                            step[name] = np.array([1.0, 2.0]) * number

    run(("radius", "label"), 0)
    run(("radius", "label", "late"), 2)
    with opened(tmp_path) as ours, xarray.open_dataset(tmp_path / "h.nc", engine="netcdf4") as theirs:
        np.testing.assert_array_equal(ours["radius"].values[3:7], [20, 21, 22, 30])
        np.testing.assert_array_equal(ours["radius"].values[::-2], theirs["radius"].values[::-2])
        same(ours, theirs)


@fast
def test_static_arrays_alone(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "grid") as stream:
        stream.dim("x", 4)
        stream.var("area", ("x",), "f8", static=True, replicated=True)
        stream.put_static("area", np.arange(4.0))
    with opened(tmp_path) as ours, xarray.open_dataset(tmp_path / "grid.nc", engine="netcdf4") as theirs:
        same(ours, theirs)


def test_a_scalar_with_the_name_of_a_dimension(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "h", layout="fpp") as stream:
        stream.dim("x", 2)
        stream.var("x", (), "f8", static=True, replicated=True)
        stream.var("T", ("x",), "f8")
        with stream.step(0.0) as step:
            step["x"] = 5.0
            step["T"] = np.array([1.0, 2.0])
    with pytest.raises(errors.ERRORS["UNSUPPORTED"], match=r"a variable 'x' without dimensions .* drop_variables=\['x'\]"):
        opened(tmp_path / "h.nc")
    for left_out in ("x", ["x"]):
        with opened(tmp_path / "h.nc", drop_variables=left_out) as dataset:
            assert dataset["T"].values.tolist() == [[1.0, 2.0]]
    with opened(tmp_path / "h.nc", drop_variables="T") as dataset:
        assert dataset["x"].values == 5.0


def test_the_scripts_of_the_page_write_and_plot(tmp_path: Path) -> None:
    """docs/python.md: one process writes, another plots."""
    blocks = (ROOT / "docs" / "python.md").read_text().split("```python\n")
    scripts = {
        name: block.partition("```")[0] for name in ("write.py", "plot.py") for block in blocks if block.startswith(f"# {name}")
    }
    assert set(scripts) == {"write.py", "plot.py"}
    in_checkout = "from tailrace.xarray_engine import TailraceBackendEntrypoint\n" + scripts["plot.py"].replace(
        'engine="tailrace"', "engine=TailraceBackendEntrypoint"
    )
    for script in (scripts["write.py"], in_checkout):
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "T.png").read_bytes().startswith(b"\x89PNG")
