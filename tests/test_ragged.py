"""Ragged dimensions: languages x presets x ranks, the index as plain tools see it, appending, keep, kills.

By default each preset once, with a writer and a reader that the seed chooses; `full` runs every preset with every writer.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
import xarray
from tailrace import errors

from tests.environment import HANGS_S, ROOT
from tests.mpirun import Mpirun
from tests.presets import PRESETS_WITH_SCRATCH
from tests.ragged_formula import COMPONENTS, LATITUDES, names, sometimes, sum_of, values

STEPS = 4
PROGRAMS: dict[str, str | Path] = {
    "c++": "ragged_case",
    "fortran": "fortran_ragged",
    "python": ROOT / "tests" / "python_ragged.py",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "combination" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} ragged")
    ranks = itertools.cycle(itertools.product((3, 4, 1, 2), (2, 1, 4, 3)))
    metafunc.parametrize(
        "combination",
        [
            pytest.param((preset, writer, rng.choice(list(PROGRAMS)), *next(ranks)), id=f"{preset}-{writer}")
            for preset, writer in itertools.product(PRESETS_WITH_SCRATCH, PROGRAMS)
        ],
    )


def write(mpirun: Mpirun, folder: Path, ranks: int, layout: str, steps: int = STEPS, language: str = "c++", more: str = "") -> Path:
    options = layout if language == "python" else f"layout = '{layout}'\nranks_per_node = 2\n{more}"
    mpirun(PROGRAMS[language], ranks, ["write", folder, "floats", options, steps])
    return folder / "floats.nc"


def read(mpirun: Mpirun, folder: Path, ranks: int, writers: list[int], language: str = "c++") -> int:
    """Each rank compares its slice of every step; how many steps there were."""
    finished = mpirun(PROGRAMS[language], ranks, ["read", folder, "floats", ",".join(map(str, writers))])
    assert finished.stdout.count("passed") == ranks
    told = re.search(r"(\d+) steps", finished.stdout)
    assert told, finished.stdout
    return int(told[1])


def expected(writers: dict[int, int]) -> dict[str, np.ndarray]:
    """As the index shows the steps that these numbers of ranks wrote: one behind the other."""
    lengths = {step: sum_of(step, 0, ranks) for step, ranks in writers.items()}
    joined = {
        "x": [values(1, step, 0, n) for step, n in lengths.items()],
        "velocity": [values(2, step, 0, n * COMPONENTS, "f4").reshape(n, COMPONENTS) for step, n in lengths.items()],
        "name": [names(step, 0, n) for step, n in lengths.items()],
        "y": [values(4, step, 0, n, "i4") for step, n in lengths.items()],
        "sometimes": [sometimes(step, ranks) for step, ranks in writers.items()],
    }
    return {
        **{name: np.concatenate(steps) for name, steps in joined.items()},
        "particle_row_size": np.array(list(lengths.values()), "i8"),
        "obs_row_size": np.array(list(lengths.values()), "i8"),
        "T": np.stack([values(6, step, 0, LATITUDES, "f4") for step in writers]),
        "mass": np.stack([values(7, step, 0, 1)[0] for step in writers]),
        "time": np.array(list(writers), "f8"),
    }


def check_with_tools(path: Path, writers: dict[int, int]) -> None:
    wanted = expected(writers)
    total = int(wanted["particle_row_size"].sum())
    with xarray.open_dataset(path, mask_and_scale=False, decode_times=False) as data:
        assert data["x"].dims == data["sometimes"].dims == data["name"].dims == ("particle",)
        assert data["velocity"].dims == ("particle", "component")
        assert data["particle_row_size"].dims == ("time",)
        assert data["particle_row_size"].attrs["sample_dimension"] == "particle"
        assert data["obs_row_size"].attrs["sample_dimension"] == "obs"
        assert data["T"].dims == ("time", "lat")
        assert data.sizes["particle"] == data.sizes["obs"] == total
        for name, array in wanted.items():
            np.testing.assert_array_equal(data[name].values, array, err_msg=name)
            assert data[name].dtype == array.dtype
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        assert not file.dimensions["particle"].isunlimited()
        assert file["x"].units == "m"
        for name in wanted.keys() - {"name"}:
            np.testing.assert_array_equal(file[name][...], wanted[name], err_msg=name)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["velocity"][()], wanted["velocity"])
        assert [dimension[0].name for dimension in file["velocity"].dims] == ["/particle", "/component"]
    header = subprocess.run(["ncdump", "-h", path], capture_output=True, text=True, check=True).stdout
    assert f"particle = {total} ;" in header
    assert "float velocity(particle, component) ;" in header


def check_command(command: list[str], *arguments: object) -> str:
    finished = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=HANGS_S)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.mark.sampled(2)
def test_ragged(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, combination: tuple[str, str, str, int, int]) -> None:
    preset, writer, reader, writers, readers = combination
    path = write(mpirun, tmp_path, writers, preset, language=writer)
    check_with_tools(path, dict.fromkeys(range(STEPS), writers))
    assert read(mpirun, tmp_path, readers, [writers] * STEPS, reader) == STEPS
    check_command(tailrace_command, "verify", "--deep", tmp_path)
    assert f"particle={sum_of(STEPS - 1, 0, writers)} (ragged)" in check_command(tailrace_command, "ls", tmp_path)


@pytest.mark.parametrize("preset", ["fpp", "collective"])
def test_appends_with_other_ranks_and_another_layout(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, preset: str
) -> None:
    write(mpirun, tmp_path, 3, preset, 2)
    write(mpirun, tmp_path, 1, "single", 2)
    path = write(mpirun, tmp_path, 4, "split:2", 1)
    check_with_tools(path, {0: 3, 1: 3, 2: 1, 3: 1, 4: 4})
    assert read(mpirun, tmp_path, 2, [3, 3, 1, 1, 4]) == 5
    path.unlink()
    check_command(tailrace_command, "index", tmp_path)
    check_with_tools(path, {0: 3, 1: 3, 2: 1, 3: 1, 4: 4})
    check_command(tailrace_command, "verify", "--deep", tmp_path)


@pytest.mark.parametrize("preset", ["hds", "shared"])
def test_keep(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, preset: str) -> None:
    path = write(mpirun, tmp_path, 3, preset, 6, more="keep = 3")
    check_with_tools(path, dict.fromkeys((3, 4, 5), 3))
    assert read(mpirun, tmp_path, 2, [3] * 6) == 3
    check_command(tailrace_command, "verify", "--deep", tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", ["fpp", "split:2", "shared"])
def test_kill(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, rng: random.Random, preset: str) -> None:
    """A rank dies somewhere; what was committed is read, and a new run goes on."""
    arguments = ["write", tmp_path, "floats", f"layout = '{preset}'", 100000, rng.randrange(1000, 200000)]
    assert mpirun("ragged_case", 3, arguments, check=False).returncode != 0
    committed = read(mpirun, tmp_path, 2, [3] * 5000)
    assert 1 <= committed < 5000
    path = write(mpirun, tmp_path, 2, preset, 2)
    writers = {**dict.fromkeys(range(committed), 3), committed: 2, committed + 1: 2}
    assert read(mpirun, tmp_path, 4, list(writers.values())) == committed + 2
    if path.exists():  # with many steps there are several index files
        check_with_tools(path, writers)
    check_command(tailrace_command, "verify", "--deep", tmp_path)


def test_a_changed_value_is_found(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path, 2, "single", 3)
    part = sorted((tmp_path / "floats.parts").glob("*.nc"))[-1]
    with h5py.File(part) as file:
        assert file["x"].shape == (1, sum_of(2, 0, 2))
        address = file["x"].id.get_offset()
    with part.open("r+b") as file:
        file.seek(address + 8 + 6)  # not in the last digits
        file.write(b"@")
    for language, program in PROGRAMS.items():
        finished = mpirun(program, 1, ["read", tmp_path, "floats", "2,2,2"], check=False)
        assert finished.returncode != 0, language


# ---- what is refused ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def stream(tmp_path: Path) -> tailrace.Stream:
    opened = tailrace.open(tmp_path, "floats", layout="fpp")
    opened.dim("particle", tailrace.RAGGED)
    opened.dim("lat", 2)
    opened.var("x", ("particle",), "f8")
    opened.var("y", ("particle",), "f8")
    return opened


@pytest.mark.fast
def test_definitions_that_cannot_be(stream: tailrace.Stream, tmp_path: Path) -> None:
    with pytest.raises(errors.BadShape, match="is its dimension 1; make it the slowest dimension"):
        stream.var("v", ("lat", "particle"), "f8")
    for flag in ("static", "replicated"):
        with pytest.raises(errors.BadShape, match="cannot be static or replicated"):
            stream.var("v", ("particle",), "f8", **{flag: True})
    with pytest.raises(
        errors.BadArgument, match="'particle_row_size' has the name of the variable in which the index stores the lengths"
    ):
        stream.var("particle_row_size", (), "f8")
    stream.close()
    with (
        tailrace.open(tmp_path, "other", layout="single", steps="all") as other,
        pytest.raises(errors.Unsupported, match=r"set steps = 1 \(the index shows all steps"),
    ):
        other.dim("particle", tailrace.RAGGED)


Put = tuple[str, int, int | None]  # variable, elements, offset


def put_step(stream: tailrace.Stream, *puts: Put) -> None:
    with stream.step(0.0) as step:
        for name, count, offset in puts:
            step.put(name, np.arange(count, dtype="f8"), offset=None if offset is None else (offset,))


@pytest.mark.fast
def test_blocks_that_do_not_belong_together(stream: tailrace.Stream, tmp_path: Path) -> None:
    with pytest.raises(errors.BadShape, match=r"'y': 2 elements along the ragged dimension 'particle', but 3 of 'x'"):
        put_step(stream, ("x", 3, None), ("y", 2, None))
    with pytest.raises(errors.BadShape, match="some blocks have offsets along it, others"):
        put_step(stream, ("x", 3, None), ("y", 3, None), ("y", 3, 0))
    with pytest.raises(errors.BlockGap):
        put_step(stream, ("x", 3, 0), ("y", 2, 1))
    put_step(stream, ("x", 3, None), ("y", 3, None))
    stream.close()
    with tailrace.open_read(tmp_path, "floats") as reader:
        assert reader.get("x").tolist() == reader.get("y").tolist() == [0, 1, 2]
