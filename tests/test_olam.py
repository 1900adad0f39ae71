"""The OLAM kernel: its input, its values, its own writing and writing through the library, every byte checked."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.olam.prepare import NAMES, grid_of, prepare, read_maps
from kernels.olam.verify import verify
from kernels.shared.formula import formula
from tests.environment import ROOT
from tests.mpirun import Finished, Mpirun, run_within
from tests.presets import PRESETS

KERNEL = ROOT / "kernels" / "olam"
PAPER_PHASES = {"1read", "6plot", "8exec", "9write"}
# Uneven in both directions for 2, 3 and 4 ranks.
SMALL = ("mesh_lat=37", "mesh_lon=53", "history_lat=11", "history_lon=13", "sweeps=3")


@pytest.fixture(scope="session")
def maps(tmp_path_factory: pytest.TempPathFactory, needs: Any) -> Path:
    needs("cdo")
    return prepare(0.5, tmp_path_factory.mktemp("olam_input"))


@pytest.fixture
def olam(mpirun: Mpirun, build_dir: Path, maps: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs the kernel into tmp_path/out and gives its record."""

    def run(ranks: int, *arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
        record = tmp_path / "run.json"
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        fixed = [f"dir={tmp_path / 'out'}", f"run={record}", f"input={maps}", *SMALL]
        mpirun(build_dir / "bin" / "olam", ranks, [*fixed, *arguments], cwd=tmp_path, env=env)
        return json.loads(record.read_text())

    return run


@pytest.fixture
def refused(mpirun: Mpirun, build_dir: Path, maps: Path, tmp_path: Path) -> Callable[..., Finished]:
    def run(*arguments: str) -> Finished:
        finished = mpirun(build_dir / "bin" / "olam", 1, [f"input={maps}", *arguments], cwd=tmp_path, check=False)
        assert finished.returncode != 0, finished.output
        return finished

    return run


def assert_right(tmp_path: Path, run: dict[str, Any]) -> dict[str, Any]:
    result = verify(tmp_path / "out", run)
    assert result["ok"], result["problems"]
    assert result["bytes_checked"] >= run["payload_bytes"] > 0
    return result


# ---- input ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_input_has_real_topography(maps: Path) -> None:
    read = read_maps(maps)
    assert tuple(read.values) == NAMES
    height, land = read.values["topography"], read.values["land_mask"]

    def at(values: np.ndarray, lat: float, lon: float) -> float:
        return float(values[int((lat + 90) / 180 * read.lat), int(lon % 360 / 360 * read.lon)])

    assert at(height, 30, 87) > 3000, "the Himalaya"
    assert at(height, 0, -150) < -3000, "the Pacific"
    assert at(land, -10, -55) == 1, "Brazil"
    assert at(land, 30, -40) == 0, "the Atlantic"
    assert np.array_equal(land, (height > 0).astype("f4"))
    assert 0.25 < land.mean() < 0.4


def test_input_is_as_large_as_asked_cached_and_the_same_each_time(maps: Path, tmp_path: Path) -> None:
    again = prepare(0.5, tmp_path)
    assert again.read_bytes() == maps.read_bytes()
    made = again.stat().st_mtime_ns
    assert prepare(0.5, tmp_path) == again
    assert again.stat().st_mtime_ns == made, "the cached file is kept"
    assert 0.95 * 500_000 < again.stat().st_size <= 500_000
    assert [path.name for path in tmp_path.iterdir()] == [again.name], "nothing else is left"


@pytest.mark.fast
def test_grid_of_the_papers_input() -> None:
    lat, lon = grid_of(500_000_000)
    assert 0.999 * 500e6 < len(NAMES) * 4 * lat * lon <= 500e6
    with pytest.raises(ValueError, match="--size-mb"):
        grid_of(100)


def test_prepare_and_verify_run_as_programs_of_kernel_toml(olam: Callable, maps: Path, tmp_path: Path) -> None:
    """The command lines of kernel.toml, filled in as a study does."""
    kernel = tomllib.loads((KERNEL / "kernel.toml").read_text())
    run = olam(2, "steps=1")
    values = {
        **kernel["parameters"],
        "python": sys.executable,
        "kernel": KERNEL,
        "cache": maps.parent,
        "input_mb": 0.5,
        "dir": tmp_path / "out",
        "run": tmp_path / "run.json",
    }
    prepared = run_within([part.format(**values) for part in kernel["prepare"]])
    assert prepared.stdout == f"{maps.resolve()}\n", prepared.output
    verified = run_within([part.format(**values) for part in kernel["verify"]])
    assert verified.returncode == 0, verified.output
    assert json.loads(verified.stdout)["bytes_checked"] >= run["payload_bytes"]


def test_command_of_kernel_toml_writes_the_papers_sizes(mpirun: Mpirun, build_dir: Path, maps: Path, tmp_path: Path) -> None:
    kernel = tomllib.loads((KERNEL / "kernel.toml").read_text())
    defaults = {key: str(value).lower() for key, value in kernel["parameters"].items()}
    places = {"build": build_dir, "dir": tmp_path / "out", "run": tmp_path / "run.json", "input": maps}
    words = [part.format(**defaults, **places, output="native", layout="", steps=2) for part in kernel["command"]]
    mpirun(words[0], 2, words[1:])
    run = json.loads((tmp_path / "run.json").read_text())
    assert_right(tmp_path, run)
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir()}
    assert len(sizes) == run["files"] == 2 * (1 + 2 * 2)
    assert sum(sizes.values()) == run["bytes"]
    assert sizes["history.000002"] == pytest.approx(2_000_000, rel=0.01)
    assert sizes["plot.000002.000001"] == pytest.approx(200_000, rel=0.01)
    assert sizes["results.000002.000001"] == pytest.approx(500_000, rel=0.01)
    assert run["input_bytes"] == 2 * maps.stat().st_size, "every rank reads all of it"
    assert set(run["phases"]) == set(kernel["phases"])
    assert set(kernel["output_phases"]) | {"8exec"} | PAPER_PHASES | {"2mesh"} == set(kernel["phases"])


# ---- values --------------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_formula_is_exact_never_zero_and_spread_out() -> None:
    cells = np.arange(200_000, dtype=np.uint64)
    values = formula(101, 1, cells)
    assert values.min() > 0
    assert values.max() <= 1
    assert np.array_equal(values.astype("f4").astype("f8"), values), "exact in 32 bits"
    assert len(np.unique(values)) > 0.99 * len(cells)
    for other in (formula(102, 1, cells), formula(101, 2, cells), formula(101, 1, cells + np.uint64(1))):
        assert np.mean(values == other) < 1e-4


@pytest.mark.fast
def test_formula_has_the_values_it_always_had() -> None:
    """The same numbers as integers of any size: overflow in numpy would show here."""

    def by_hand(variable: int, step: int, cell: int) -> float:
        low = 0xFFFFFFFF
        x = (cell & low) * 1640531527 & low
        x = (x + variable * 1013904223 + (cell >> 32) * 69069) & low
        x = (x + step * 747796405) & low
        x ^= x >> 16
        x = x * 2146121005 & low
        x ^= x >> 15
        x = x * 1759714725 & low
        x ^= x >> 16
        return ((x >> 8) + 1) / 2**24

    for variable, step, cell in [(101, 1, 0), (599, 10**6, 2**32 - 1), (301, 7, 2**40 + 12345)]:
        assert formula(variable, step, np.array([cell], np.uint64))[0] == by_hand(variable, step, cell)


# ---- its own writing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("decomposition", ["2d", "lat"])
def test_native_bytes(olam: Callable, tmp_path: Path, ranks: int, decomposition: str) -> None:
    run = olam(ranks, "steps=3", f"decomposition={decomposition}")
    result = assert_right(tmp_path, run)
    assert result["files"] == run["files"] == 3 * (1 + 2 * ranks)
    assert result["bytes_checked"] == run["bytes"] == result["bytes"]
    assert all(path.is_file() for path in (tmp_path / "out").iterdir()), "all in one directory"


def test_native_with_ranks_that_own_nothing(olam: Callable, tmp_path: Path) -> None:
    assert_right(tmp_path, olam(4, "steps=2", "mesh_lat=2", "mesh_lon=3", "history_lat=1", "decomposition=lat"))


def test_native_without_barriers_has_no_sync_times(olam: Callable, tmp_path: Path) -> None:
    run = olam(2, "steps=2", "--no-barriers")
    assert_right(tmp_path, run)
    assert run["case"]["barriers"] is False
    assert all(phase["sync_s"] is None for phase in run["phases"].values())


@pytest.mark.parametrize("name", ["plot.000002.000001", "results.000001.000000", "history.000002"])
@pytest.mark.parametrize("where", [0, 40, 0.5, -1])
def test_a_wrong_byte_is_found(olam: Callable, tmp_path: Path, name: str, where: float) -> None:
    run = olam(2, "steps=2")
    path = tmp_path / "out" / name
    content = bytearray(path.read_bytes())
    at = int(where * len(content)) if 0 < where < 1 else int(where)
    content[at] ^= 0x10
    path.write_bytes(content)
    result = verify(tmp_path / "out", run)
    assert not result["ok"]
    assert result["mismatches"] == 1
    assert name in result["problems"][0]


def test_missing_short_and_foreign_files_are_found(olam: Callable, tmp_path: Path) -> None:
    run = olam(2, "steps=1")
    out = tmp_path / "out"
    (out / "plot.000001.000000").unlink()
    (out / "history.000001").write_bytes((out / "history.000001").read_bytes()[:-8])
    (out / "plot.000009.000000").write_bytes(b"left over")
    problems = " ".join(verify(out, run)["problems"])
    for name in ("plot.000001.000000: is missing", "history.000001: ", "plot.000009.000000: is not a file of this run"):
        assert name in problems


def test_a_static_map_that_is_not_the_inputs_is_found(olam: Callable, tmp_path: Path) -> None:
    run = olam(1, "steps=1")
    other = tmp_path / "other.bin"
    content = bytearray(Path(run["case"]["input"]).read_bytes())
    content[512:] = bytes(len(content) - 512)
    other.write_bytes(content)
    run["case"]["input"] = str(other)
    problems = " ".join(verify(tmp_path / "out", run)["problems"])
    assert "map topography" in problems
    assert "results.000001.000000" in problems


# ---- phases and load -----------------------------------------------------------------------------------------------------------


def test_phases_add_up(olam: Callable) -> None:
    run = olam(2, "steps=3", "sweeps=50")
    assert set(run["phases"]) >= PAPER_PHASES
    for name, phase in run["phases"].items():
        assert phase["exec_s"] >= 0
        assert phase["sync_s"] >= 0, name
        assert phase["slowest_s"] >= phase["exec_s"]
    for name in ("6plot", "8exec", "9write"):
        by_step = sum(step[name]["slowest_s"] for step in run["step_phases"])
        assert by_step == pytest.approx(run["phases"][name]["slowest_s"])
    output_s = sum(run["phases"][name]["slowest_s"] for name in ("4open", "6plot", "7gather", "9write", "9close"))
    assert run["time_to_return_s"] == pytest.approx(output_s)
    assert run["total_s"] > output_s


def test_compute_load_grows_with_sweeps_and_is_used(olam: Callable) -> None:
    seconds: dict[int, float] = {}
    for sweeps in (20, 20, 20, 20, 2000):  # the least of the short ones: what others do on this machine makes them longer
        run = olam(1, "output=none", "steps=2", f"sweeps={sweeps}", "history_fields=1")
        seconds[sweeps] = min(run["phases"]["8exec"]["exec_s"], seconds.get(sweeps, math.inf))
        start = sum(sum(run["map_sums"].values()) * level + 1e5 * 37 * 53 for level in range(1, 11))
        assert run["state_sum"] == pytest.approx(start, rel=1e-6), "the stencil keeps the sum of what was read"
    assert seconds[2000] > 10 * seconds[20]


def test_namelist_file_then_arguments(olam: Callable, tmp_path: Path) -> None:
    (tmp_path / "olam.nml").write_text("&olam\n  steps = 2\n  plot_fields = 12\n  output = 'none'\n/\n")
    case = olam(1, "steps=1")["case"]
    assert (case["steps"], case["plot_fields"], case["output"]) == (1, 12, "none")


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("output=quick", "output='quick'"),
        ("decomposition=3d", "decomposition='3d'"),
        ("setps=4", "setps"),
        ("steps=many", "many"),
        ("steps=-1", "steps=-1"),
        ("mesh_lat=10", "mesh_lat and mesh_lon"),
        ("input=/does/not/exist", "prepare.py"),
        ("dir=/does/not/exist", "/does/not/exist/plot.000001.000000"),
        ("nml=/does/not/exist", "nml='/does/not/exist'"),
        ("quick", "expected key=value"),
    ],
)
def test_bad_arguments_are_named(refused: Callable, argument: str, named: str) -> None:
    finished = refused(argument)
    assert "olam: " in finished.stderr
    assert named in finished.stderr


def test_input_cut_off_is_refused(refused: Callable, maps: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.bin"
    cut.write_bytes(maps.read_bytes()[:-100])
    assert "cut off" in refused(f"input={cut}").stderr


# ---- through the library -------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", PRESETS)
def test_tailrace_bytes(olam: Callable, tmp_path: Path, layout: str, ranks: int) -> None:
    run = olam(ranks, "output=tailrace", f"layout={layout}", "steps=3")
    assert_right(tmp_path, run)
    assert set(run["streams"]) == {"plot", "results", "history"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("steps", ["1", "2", "'all'"])
@pytest.mark.parametrize("layout", PRESETS)
def test_tailrace_steps_in_a_file(olam: Callable, tmp_path: Path, layout: str, steps: str) -> None:
    assert_right(tmp_path, olam(2, "output=tailrace", f"layout=layout = '{layout}'; steps = {steps}", "steps=3"))


def test_tailrace_layout_from_the_environment(olam: Callable, tmp_path: Path) -> None:
    """The kernel has no default layout: without `layout=` the environment chooses."""
    assert_right(tmp_path, olam(2, "output=tailrace", "steps=2", env={"TAILRACE_LAYOUT": "fpp"}))
    parts = list((tmp_path / "out" / "plot.parts").rglob("*.nc"))
    assert len(parts) == 2 * 2, "a file per rank and step"


def test_tailrace_with_ranks_that_own_nothing(olam: Callable, tmp_path: Path) -> None:
    few = ("mesh_lat=2", "mesh_lon=3", "history_lat=1", "decomposition=lat")
    assert_right(tmp_path, olam(4, "output=tailrace", "layout=fpp", "steps=2", *few))


def test_tailrace_output_has_the_attributes_that_tools_expect(olam: Callable, tmp_path: Path) -> None:
    import xarray

    olam(2, "output=tailrace", "layout=fpp", "steps=2")
    with xarray.open_dataset(tmp_path / "out" / "results.nc") as results:
        assert [str(time)[:13] for time in results.time.values] == ["2001-01-01T06", "2001-01-01T12"]
        assert results.lat.attrs["units"] == "degrees_north"
        assert results.air_temperature.dims == ("time", "level", "lat", "lon")
        assert results.air_temperature.attrs["units"] == "K"
        assert results.topography.dims == ("lat", "lon")
    with xarray.open_dataset(tmp_path / "out" / "history.nc") as history:
        assert history.total_water.dims == ("time",)


def test_a_wrong_byte_is_found_through_the_library_too(olam: Callable, tmp_path: Path) -> None:
    run = olam(2, "output=tailrace", "layout=fpp", "steps=1")
    value = formula(101, 1, np.array([0], np.uint64)).astype("<f4").tobytes()
    for part in sorted((tmp_path / "out" / "plot.parts").rglob("*.nc")):
        content = part.read_bytes()
        if value in content:
            at = content.index(value)
            part.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            break
    result = verify(tmp_path / "out", run)
    assert result["mismatches"] == 1
    assert "surface_temperature" in result["problems"][0]
