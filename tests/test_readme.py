"""The programs of README.md run as they stand there, and xarray reads what they say they write."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray

from tests.environment import ROOT
from tests.mpirun import Mpirun

SUFFIXES = {"python": ".py", "fortran": ".f90", "c": ".c"}


def block_of(language: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"README.md has {len(blocks)} blocks of {language}"
    return blocks[0]


def program_of(language: str, folder: Path, build: Path) -> Path:
    source = folder / f"main{SUFFIXES[language]}"
    source.write_text(block_of(language))
    if language == "python":
        return source
    library = ["-L", str(build / "lib"), f"-Wl,-rpath,{build / 'lib'}", "-ltailrace"]
    compiler = ["mpicc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include")]
    if language == "fortran":
        compiler = ["mpifort", "-Wall", "-Werror", "-I", str(build / "include")]
        library.insert(-1, "-ltailrace_fortran")
    done = subprocess.run(
        [*compiler, str(source), "-o", str(folder / "main"), *library], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "main"


@pytest.mark.fast
@pytest.mark.parametrize("language", SUFFIXES)
def test_readme_program(language: str, mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> None:
    mpirun(program_of(language, tmp_path, build_dir), 2, cwd=tmp_path)
    with xarray.open_dataset(tmp_path / "out" / "history.nc", decode_times=False) as dataset:
        hours = np.arange(3, dtype="f4")
        expected = np.broadcast_to((np.float32(273.15) + hours)[:, None, None], (3, 180, 360))
        assert dataset["T"].dims == ("time", "lat", "lon")
        np.testing.assert_array_equal(dataset["T"].values, expected)
        np.testing.assert_array_equal(dataset["time"].values, 3600.0 * hours)
        assert dataset["T"].attrs["units"] == "K"
