"""A stream of more than 256 parts: NAME.nc shows all of it, and everything of ours reads it, also with few descriptors."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
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
from tailrace.cli import main

from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS

MANY = 300  # parts; NAME.nc has two subindexes
TOO_MANY = 1100  # for a reader with 1,024 descriptors
POINTS = 4


def values_of(step: int) -> np.ndarray:
    return np.arange(POINTS, dtype="f4") + 10 * step + 1


def rows_of(step: int) -> np.ndarray:
    return np.arange(step % 3, dtype="i4") + 100 * step


def write(folder: Path, count: int, *, after: Callable[[int], None] = lambda _: None, **keys: Any) -> None:
    """Appends so many steps. A file of several steps cannot have ragged arrays."""
    keys = {"layout": "single", "steps": 1, **keys}
    is_ragged = keys["steps"] == 1
    with tailrace.open(folder, "h", **keys) as stream:
        stream.dim("x", POINTS)
        stream.coord("level", np.arange(2.0))
        stream.var("T", ("x",), "f4", units="K")
        stream.var("mass")
        stream.var("mask", ("x",), "i4", static=True)
        if is_ragged:
            stream.dim("drop", tailrace.RAGGED)
            stream.var("drops", ("drop",), "i4")
        first = stream.step_count
        for number in range(first, first + count):
            rows = rows_of(number)
            with stream.step(float(number)) as step:
                step.put("T", values_of(number), offset=(0,))
                step["mass"] = float(number)
                if number == first:
                    step.put("mask", np.arange(POINTS, dtype="i4"), offset=(0,))
                if is_ragged:
                    step.put("drops", rows)
            after(number)


def check(path: Path, numbers: range) -> None:
    """Of NAME.nc, or a combined file: all values of these steps, by three readers."""
    wanted = np.stack([values_of(number) for number in numbers])
    rows = np.concatenate([rows_of(number) for number in numbers])
    with netCDF4.Dataset(path) as file:
        assert file.dimensions["time"].isunlimited()
        assert len(file.dimensions["time"]) == len(numbers)
        assert file["T"].shape == wanted.shape
        assert file["T"].units == "K"
        np.testing.assert_array_equal(np.ma.getdata(file["T"][:]), wanted)
        np.testing.assert_array_equal(np.ma.getdata(file["T"][-1]), wanted[-1])
        np.testing.assert_array_equal(file["time"][:], list(numbers))
        np.testing.assert_array_equal(file["mass"][:], list(numbers))
        np.testing.assert_array_equal(file["mask"][:], range(POINTS))
        np.testing.assert_array_equal(file["level"][:], [0, 1])
        if "drops" in file.variables:
            np.testing.assert_array_equal(np.ma.getdata(file["drops"][:]), rows)
            np.testing.assert_array_equal(file["drop_row_size"][:], [number % 3 for number in numbers])
    with h5py.File(path) as file:
        assert file["T"].maxshape == (None, POINTS)
        np.testing.assert_array_equal(file["T"][...], wanted)
    with xarray.open_dataset(path, decode_times=False) as dataset:
        np.testing.assert_array_equal(dataset["T"].values, wanted)


def check_open_read(folder: Path, numbers: range) -> None:
    with tailrace.open_read(folder, "h") as reader:
        assert list(reader.times) == list(numbers)
        for at, number in enumerate(numbers):
            reader.select(reader.steps[at])
            np.testing.assert_array_equal(reader.get("T"), values_of(number))


def check_with_ours(folder: Path, scratch: Path, numbers: range) -> None:
    """open_read, combine, convert, verify and ls."""
    check_open_read(folder, numbers)
    tailrace.combine(folder, "h", scratch / "one.nc")
    check(scratch / "one.nc", numbers)
    tailrace.convert(folder, "h", scratch / "converted", layout="fpp", steps=1)
    check_open_read(scratch / "converted", numbers)
    assert tailrace.verify(folder, "h", deep=True)["ok"]
    assert len(tailrace.list_streams(folder)[0]["steps"]) == len(numbers)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many") / "out"
    write(folder, MANY)
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_is_one_dataset(many: Path) -> None:
    assert names_in(many) == ["h.nc", "h.parts"]
    assert names_in(many / "h.parts" / "index") == ["h.index.000000.000000.nc", "h.index.000256.000000.nc"]
    check(many / "h.nc", range(MANY))


def test_other_programs_read_it(many: Path) -> None:
    header = run_within(["ncdump", "-h", str(many / "h.nc")])
    assert f"time = UNLIMITED ; // ({MANY} currently)" in header.stdout
    shown = run_within(["h5dump", "-d", "/T", "-s", f"{MANY - 1},0", "-c", "1,1", "-y", str(many / "h.nc")])
    assert str(int(values_of(MANY - 1)[0])) in shown.stdout
    listed = run_within(["cdo", "-s", "ntime", "-selname,T", str(many / "h.nc")])
    assert listed.stdout.split() == [str(MANY)]


@pytest.mark.parametrize("keys", [{}, {"layout": "fpp"}, {"layout": "fpp", "steps": 2}], ids=["many", "few", "growing"])
def test_record_tools(many: Path, tmp_path: Path, keys: dict[str, Any]) -> None:
    folder, steps = (tmp_path / "out", 5) if keys else (many, MANY)
    if keys:
        write(folder, steps, **keys)
    for command in (["ncra"], ["ncrcat", str(folder / "h.nc")]):
        made = run_within([command[0], "-O", "--cnk_plc=uck", *command[1:], str(folder / "h.nc"), str(tmp_path / "made.nc")])
        assert made.returncode == 0, made.stderr
        with netCDF4.Dataset(tmp_path / "made.nc") as file:
            wanted = np.stack([values_of(number) for number in range(steps)])
            wanted = wanted.mean(axis=0, dtype="f8")[None] if command == ["ncra"] else np.concatenate([wanted, wanted])
            np.testing.assert_allclose(file["T"][:], wanted, rtol=1e-6)


def test_ours_read_it(many: Path, tmp_path: Path) -> None:
    check_with_ours(many, tmp_path, range(MANY))


def run_with_descriptors(limit: int, code: str, *arguments: Path | int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    before = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # noqa: E731
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, preexec_fn=before)


OURS = """
import sys
from pathlib import Path
from tests.test_many_parts import check_with_ours
check_with_ours(Path(sys.argv[1]), Path(sys.argv[2]), range(int(sys.argv[3])))
"""


@pytest.mark.parametrize("limit", [100, pytest.param(1024, marks=pytest.mark.full)])
def test_ours_read_it_with_few_descriptors(many: Path, tmp_path: Path, limit: int) -> None:
    done = run_with_descriptors(limit, OURS, many, tmp_path, MANY)
    assert done.returncode == 0, done.stderr


@pytest.mark.fast
@pytest.mark.parametrize("steps", [1, 2, "all"])
@pytest.mark.parametrize("preset", ["", *PRESETS])
def test_is_there_from_the_first_step_on(tmp_path: Path, preset: str, steps: int | str) -> None:
    seen = []

    def look(number: int) -> None:
        if number == 0:
            assert (tmp_path / "h.nc").exists()
        with netCDF4.Dataset(tmp_path / "h.nc") as file:
            shown = len(file.dimensions["time"])
            assert 1 <= shown <= number + 1
            np.testing.assert_array_equal(np.ma.getdata(file["T"][:]), [values_of(at) for at in range(shown)])
        seen.append(shown)

    write(tmp_path, 3, after=look, layout=preset or None, steps=steps)
    assert len(seen) == 3
    check(tmp_path / "h.nc", range(3))


def test_grows_beyond_its_bound(tmp_path: Path) -> None:
    write(tmp_path, 250)
    assert not (tmp_path / "h.parts" / "index").exists()
    check(tmp_path / "h.nc", range(250))
    write(tmp_path, 10)
    check(tmp_path / "h.nc", range(260))
    with tailrace.open(tmp_path, "h", mode="replace", layout="single", steps=1) as stream:
        stream.var("T", (), "f4")
        with stream.step(0.0) as step:
            step["T"] = 1.0
    assert names_in(tmp_path) == ["h.nc", "h.parts"]
    assert not (tmp_path / "h.parts" / "index").exists()


def test_steps_leave(tmp_path: Path) -> None:
    """Who opened NAME.nc before sees the steps that are still there at their places, though subindexes were written again."""
    write(tmp_path, 400, keep=300)
    _check_kept(tmp_path / "h.nc", range(100, 400))
    with netCDF4.Dataset(tmp_path / "h.nc") as before:
        write(tmp_path, 50, keep=300)
        np.testing.assert_array_equal(np.ma.getdata(before["T"][50:]), [values_of(number) for number in range(150, 400)])
    _check_kept(tmp_path / "h.nc", range(150, 450))
    tailrace.rewind(tmp_path, "h", before=420.0)
    _check_kept(tmp_path / "h.nc", range(150, 420))


def _check_kept(path: Path, numbers: range) -> None:
    with netCDF4.Dataset(path) as file:
        np.testing.assert_array_equal(np.ma.getdata(file["T"][:]), [values_of(number) for number in numbers])
        np.testing.assert_array_equal(file["time"][:], list(numbers))
        np.testing.assert_array_equal(np.ma.getdata(file["drops"][:]), np.concatenate([rows_of(number) for number in numbers]))
        np.testing.assert_array_equal(file["mask"][:], range(POINTS))


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    write(tmp_path, MANY)
    subindex = tmp_path / "h.parts" / "index" / "h.index.000000.000000.nc"
    subindex.unlink()
    problems = tailrace.verify(tmp_path, "h")["problems"]
    assert [(problem["path"], problem["remedy"]) for problem in problems] == [(str(subindex), "index")]
    assert main(["index", str(tmp_path)]) == 0
    assert tailrace.verify(tmp_path, "h")["ok"]
    check(tmp_path / "h.nc", range(MANY))
    (tmp_path / "h.parts" / "000007.nc").unlink()
    assert tailrace.verify(tmp_path, "h")["state"] == "damaged"
    with netCDF4.Dataset(tmp_path / "h.nc") as file:
        assert np.ma.getmaskarray(file["T"][7]).all()
        assert (np.ma.getdata(file["T"][7]) == netCDF4.default_fillvals["f4"]).all()
        np.testing.assert_array_equal(np.ma.getdata(file["T"][8]), values_of(8))
    with tailrace.open_read(tmp_path, "h") as reader:
        reader.select(7)
        with pytest.raises(errors.Error, match=r"000007\.nc"):
            reader.get("T")


@pytest.fixture(scope="module")
def too_many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The stream, and what its run said at its end."""
    folder = tmp_path_factory.mktemp("too_many") / "out"
    code = (
        "import sys; from pathlib import Path; from tests.test_many_parts import write; write(Path(sys.argv[1]), int(sys.argv[2]))"
    )
    done = run_within([sys.executable, "-c", code, str(folder), str(TOO_MANY)])
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


def test_too_many_for_a_reader_is_told(too_many: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, at_the_end = too_many
    note = f"keeps {TOO_MANY + 6} files open, and the usual limit is 1024"
    (line,) = at_the_end.splitlines()
    assert note in line
    assert "steps = 'all'" in line
    with netCDF4.Dataset(folder / "h.nc") as file:
        assert note in file.tailrace_open_files
    for command in ("ls", "verify"):
        assert main([command, str(folder)]) == 0
        assert note in " ".join(capsys.readouterr().out.split())
    assert any(note in told for told in tailrace.verify(folder, "h")["notes"])
    request = ["plan", "single", "--ranks", "1", "--set", "steps=1", "--steps", str(TOO_MANY), "--shape", "T:8:f4", "--json"]
    assert main(request) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("the usual limit is 1024" in told and "steps = 'all'" in told for told in notes)
    assert any("--cnk_plc=uck" in told for told in notes)


def test_few_are_not_told(many: Path) -> None:
    assert tailrace.verify(many, "h")["notes"] == []
    assert tailrace.list_streams(many)[0]["notes"] == []
    with netCDF4.Dataset(many / "h.nc") as file:
        assert "tailrace_open_files" not in file.ncattrs()


READ = """
import sys
from pathlib import Path
from tests.test_many_parts import check_open_read
check_open_read(Path(sys.argv[1]), range(int(sys.argv[2])))
"""


@pytest.mark.parametrize("limit", [100, pytest.param(1024, marks=pytest.mark.full)])
def test_open_read_with_few_descriptors(too_many: tuple[Path, str], limit: int) -> None:
    done = run_with_descriptors(limit, READ, too_many[0], TOO_MANY)
    assert done.returncode == 0, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("steps", [1, "all"])
def test_more_than_256_ranks_with_a_part_each(mpirun: Mpirun, tmp_path: Path, steps: int | str) -> None:
    """All variables, static ones and coordinates among them, as one rank writes them."""
    ranks = 260
    words = ["decomposition=rows", "steps=2", f"size=2,{2 * ranks},3"]
    toml = f"steps = {steps}" if steps == 1 else f"steps = '{steps}'"
    mpirun("write_case", ranks, [tmp_path / "many", "h", f"layout = 'fpp'\n{toml}", *words], timeout_s=900)
    mpirun("write_case", 1, [tmp_path / "one", "h", "", *words])
    assert len(list((tmp_path / "many" / "h.parts" / "index").iterdir())) >= 2
    tailrace.combine(tmp_path / "many", "h", tmp_path / "combined.nc")
    for path in (tmp_path / "many" / "h.nc", tmp_path / "combined.nc"):
        with netCDF4.Dataset(path) as many, netCDF4.Dataset(tmp_path / "one" / "h.nc") as one:
            assert set(many.variables) == set(one.variables)
            for name, variable in one.variables.items():
                np.testing.assert_array_equal(np.ma.getdata(many[name][...]), np.ma.getdata(variable[...]), err_msg=name)
    assert tailrace.verify(tmp_path / "many", "h", deep=True)["ok"]
    _forget_boxes(tmp_path / "many" / "h.parts" / "journal.jsonl")
    (tmp_path / "many" / "h.nc").unlink()
    assert main(["index", str(tmp_path / "many")]) == 0
    with netCDF4.Dataset(tmp_path / "many" / "h.nc") as many, netCDF4.Dataset(tmp_path / "combined.nc") as combined:
        for name, variable in combined.variables.items():
            np.testing.assert_array_equal(np.ma.getdata(many[name][...]), np.ma.getdata(variable[...]), err_msg=name)


def _forget_boxes(journal: Path) -> None:
    """As versions before 0.2 wrote it."""
    lines = [line for line in journal.read_text().splitlines(keepends=True) if '"kind":"boxes"' not in line]
    journal.write_text("".join(lines))


@pytest.mark.full
def test_4096_parts(tmp_path: Path) -> None:
    write(tmp_path / "out", 4096)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 5000:
        pytest.fail(f"the hard limit of open files is {limits[1]}; this test needs 5000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 5000), limits[1]))
    try:
        check(tmp_path / "out" / "h.nc", range(4096))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for limit in (100, 1024, 4096):
        (tmp_path / str(limit)).mkdir()
        done = run_with_descriptors(limit, OURS, tmp_path / "out", tmp_path / str(limit), 4096)
        assert done.returncode == 0, done.stderr
