"""Characters and strings: writers and readers in three languages x presets x ranks, plain tools, what Python converts and refuses.

By default each preset once, with a writer and a reader that the seed chooses; `full` runs every writer and reader.
"""

from __future__ import annotations

import itertools
import random
import subprocess
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
import xarray
from tailrace import errors

from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.presets import PRESETS

STATIONS, PAIRS, LENGTH, STEPS = 11, 2, 6, 2
LANGUAGES = ("c++", "fortran", "python")
PROGRAMS: dict[str, str | Path] = {
    "c++": "strings_case",
    "fortran": "fortran_strings",
    "python": ROOT / "tests" / "python_strings.py",
}


def text(variable: int, step: int, item: int) -> bytes:
    places = range((item * 5 + variable + step) % (LENGTH + 1))
    return bytes(97 + (variable * 7 + step * 5 + (item * LENGTH + place) * 3) % 26 for place in places).ljust(LENGTH)


def strings(variable: int, step: int, *shape: int) -> np.ndarray:
    """By a formula of (variable, step, global index), padded with blanks."""
    return np.array([text(variable, step, item) for item in range(int(np.prod(shape)))], f"S{LENGTH}").reshape(shape)


def expected() -> dict[str, np.ndarray]:
    """As a file has them, the characters joined."""
    return {
        "names": strings(1, 0, STATIONS),
        "state": np.stack([strings(2, step, STATIONS) for step in range(STEPS)]),
        "grid": np.stack([strings(3, step, PAIRS, STATIONS) for step in range(STEPS)]),
        "title": np.stack([strings(4, step, 1)[0] for step in range(STEPS)]),
    }


def joined(characters: np.ndarray) -> np.ndarray:
    assert characters.dtype == "S1"
    return np.ascontiguousarray(characters).view(f"S{LENGTH}")[..., 0]


def write(mpirun: Mpirun, language: str, ranks: int, folder: Path, preset: str, steps: str) -> Path:
    options = [preset, steps] if language == "python" else [f"layout = '{preset}'\nsteps = {1 if steps == '1' else repr(steps)}"]
    mpirun(PROGRAMS[language], ranks, ["write", folder, "history", *options])
    return folder / "history.nc"


def check_with_tools(path: Path) -> None:
    with h5py.File(path) as file:
        for name, values in expected().items():
            np.testing.assert_array_equal(joined(file[name][()]), values, err_msg=name)
        assert file["state"].fillvalue == b"#"
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        assert file["names"].dimensions == ("station", "length")
        assert file["grid"].dimensions == ("time", "pair", "station", "length")
        assert file["names"].cf_role == "timeseries_id"
        assert file["state"]._FillValue == b"#"
        for name, values in expected().items():
            np.testing.assert_array_equal(joined(file[name][...]), values, err_msg=name)
    with xarray.open_dataset(path, mask_and_scale=False) as data:  # masked strings are objects
        assert data["grid"].dims == ("time", "pair", "station")
        for name, values in expected().items():
            assert data[name].dtype == f"S{LENGTH}"
            np.testing.assert_array_equal(data[name].values, values, err_msg=name)
    printed = subprocess.run(["ncdump", "-v", "names", path], capture_output=True, text=True, check=True).stdout
    assert "char names(station, length) ;" in printed
    for value in expected()["names"]:
        assert f'"{value.decode().ljust(LENGTH)}"' in printed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "combination" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} strings")
    chosen = {preset: (rng.choice(LANGUAGES), rng.choice(LANGUAGES)) for preset in PRESETS}
    kinds = itertools.cycle(itertools.product(("1", "all"), (1, 3, 4, 2), (2, 1, 4)))
    metafunc.parametrize(
        "combination",
        [
            pytest.param(
                (preset, writer, reader, *next(kinds)),
                id=f"{preset}-{writer}-{reader}",
                marks=() if chosen[preset] == (writer, reader) else (pytest.mark.full,),
            )
            for preset, writer, reader in itertools.product(PRESETS, LANGUAGES, LANGUAGES)
        ],
    )


def test_strings(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, combination: tuple[str, str, str, str, int, int]
) -> None:
    preset, writer, reader, steps, writers, readers = combination
    path = write(mpirun, writer, writers, tmp_path, preset, steps)
    check_with_tools(path)
    assert mpirun(PROGRAMS[reader], readers, ["read", tmp_path, "history"]).stdout.count("passed") == readers
    subprocess.run([*tailrace_command, "verify", "--deep", tmp_path], check=True, capture_output=True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_changed_character_is_found(mpirun: Mpirun, tmp_path: Path, language: str) -> None:
    path = write(mpirun, "c++", 1, tmp_path, "single", "all")
    with h5py.File(path) as file:
        address = file["names"].id.get_offset()
    with path.open("r+b") as file:
        file.seek(address + LENGTH + 1)
        file.write(b"@")
    finished = mpirun(PROGRAMS[language], 1, ["read", tmp_path, "history"], check=False)
    assert finished.returncode != 0
    assert "@" in finished.output


# ---- Python -------------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_a_string_type_makes_its_own_dimension(tmp_path: Path) -> None:
    names = np.array([b"Aa", b"Bergen", b"", b"Zug"])
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.dim("station", 4)
        stream.coord("station_name", names, dims=("station",), _Encoding="utf-8")
        stream.var("weather", ("station",), "S6")
        stream.var("comment", (), "S8")
        with stream.step(0.0) as step:
            step.put("weather", ["clear", "rain", "", "Föhn"])
            step["comment"] = "größte"
    with xarray.open_dataset(tmp_path / "history.nc") as data:
        assert dict(data.sizes) == {"time": 1, "station": 4}
        assert data["station_name"].values.tolist() == [name.decode() for name in names]
        assert data["weather"].values.tolist() == [[b"clear", b"rain", b"", "Föhn".encode()]]
        assert data["comment"].values.tolist() == ["größte".encode()]
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file["weather"].dimensions == ("time", "station", "string6")
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.get("weather").tolist() == [b"clear", b"rain", b"", "Föhn".encode()]
        assert reader.get("station_name").tolist() == names.tolist()
        assert reader.get("weather", (1, 0), (1, 3)).tolist() == [[b"r", b"a", b"i"]]


@pytest.mark.fast
def test_what_is_not_text_of_the_length_is_refused(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "history", layout="single") as stream:
        stream.dim("station", 2)
        for dtype in (str, "U8", object):
            with pytest.raises(TypeError, match=r"strings of any length .* such as 'S16'"):
                stream.var("names", ("station",), dtype)
        stream.var("names", ("station",), "S4")
        with pytest.raises(errors.BadShape, match="holds strings of 4 bytes, the array has type S6"), stream.step(0.0) as step:
            step.put("names", ["ab", "longer"])
        with pytest.raises(TypeError, match="'names' holds S1, the array holds i4"), stream.step(0.0) as step:
            step.put("names", np.zeros((2, 4), "i4"))
        with stream.step(0.0) as step:
            step.put("names", ["ab", "cd"])
    with tailrace.open_read(tmp_path, "history") as reader:
        with pytest.raises(errors.BadArgument, match="holds strings of 4 bytes, the array to read into has type"):
            reader.get("names", out=np.zeros(2, "S3"))
        assert reader.get("names").tolist() == [b"ab", b"cd"]
