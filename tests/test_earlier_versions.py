"""What earlier commits wrote: streams are read, verified and appended to; logs and study records say what they said then."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
import tailrace

from tests import formula
from tests.earlier import SIZES, STREAMS, STUDY, WRITTEN_STEPS
from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.readers import read_netcdf4
from tests.seen_values import check

ARCHIVES = sorted((ROOT / "tests" / "data").glob("earlier-*.tar.xz"))
APPENDED_STEPS = 2
STREAM = "history"

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module", params=ARCHIVES, ids=[path.name.split(".")[0] for path in ARCHIVES])
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder)
    return folder


def steps_there(name: str, written: int) -> list[int]:
    kept = 2 if name == "kept" else written
    return list(range(written - kept, written))


def check_stream(folder: Path, name: str, written: int) -> None:
    report = tailrace.verify(folder, STREAM, deep=True)
    assert report["ok"], report["problems"]
    steps = steps_there(name, written)
    if steps[0] == 0:
        check(read_netcdf4.read(folder / f"{STREAM}.nc", folder), written, SIZES, "climate")
    with tailrace.open_read(folder, STREAM) as reader:
        assert list(reader.steps) == steps
        for step in steps:
            reader.select(step)
            for variable in formula.CLIMATE:
                np.testing.assert_array_equal(reader.get(variable.name), variable.values(step, SIZES), err_msg=variable.name)


def test_there_is_an_archive() -> None:
    assert ARCHIVES


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_read_and_appended_to(earlier: Path, name: str, mpirun: Mpirun, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(earlier / "streams" / name, folder)
    check_stream(folder, name, WRITTEN_STEPS)
    mpirun("write_case", 2, [folder, STREAM, STREAMS[name], f"steps={APPENDED_STEPS}", SIZES.argument])
    check_stream(folder, name, WRITTEN_STEPS + APPENDED_STEPS)


def test_a_ragged_stream_is_read_and_appended_to(earlier: Path, mpirun: Mpirun, tmp_path: Path) -> None:
    folder = tmp_path / "ragged"
    shutil.copytree(earlier / "streams" / "ragged", folder)
    program = ROOT / "tests" / "python_ragged.py"
    mpirun(program, 2, ["read", folder, "particles", ",".join(["3"] * WRITTEN_STEPS)])
    mpirun(program, 2, ["write", folder, "particles", "node", APPENDED_STEPS])
    mpirun(program, 3, ["read", folder, "particles", ",".join(["3"] * WRITTEN_STEPS + ["2"] * APPENDED_STEPS)])
    report = tailrace.verify(folder, "particles", deep=True)
    assert report["ok"], report["problems"]


def test_a_log_shows_the_same_figures(earlier: Path, tailrace_command: list[str]) -> None:
    shown = subprocess.run(
        [*tailrace_command, "trace", "show", earlier / "trace" / "log", "--json"], capture_output=True, check=True
    )
    files = {Path(name).name: sums for name, sums in json.loads(shown.stdout)["files"].items()}
    for name, sums in json.loads((earlier / "trace" / "shown.json").read_text()).items():
        assert {key: files[name][key] for key in sums} == sums


def test_a_study_needs_no_further_run(earlier: Path, tailrace_command: list[str], tmp_path: Path) -> None:
    """All its runs are recorded: the answer is the one of then."""
    folder = tmp_path / "study"
    shutil.copytree(earlier / "study", folder)
    command = [*tailrace_command, "study", f"{STUDY}.toml", "--out", "results", "--json"]
    shown = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    answer, before = json.loads(shown.stdout), json.loads((folder / "answer.json").read_text())
    for key in ("study", "winner", "settings"):
        assert answer[key] == before[key]
