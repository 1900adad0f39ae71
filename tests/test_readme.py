"""The programs of README.md and docs/writing.md run as they stand there, and xarray reads what they say they write."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray

from tests.environment import HANGS_S, ROOT, open_mpi_environment
from tests.mpirun import Mpirun

SUFFIXES = {"python": ".py", "fortran": ".f90", "c": ".c"}


# What README.md leaves out around its lines of Fortran.
FORTRAN = """program main
  use mpi
  use tailrace
  implicit none
  type(tailrace_stream) :: stream
  integer :: rank, ranks, error, hour
  real :: t(100)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
LINES
  call MPI_Finalize(error)
end program
"""


def blocks_of(language: str, page: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def block_of(language: str, page: str = "docs/writing.md") -> str:
    blocks = blocks_of(language, page)
    assert len(blocks) == 1, f"{page} has {len(blocks)} blocks of {language}"
    return blocks[0]


def program_of(language: str, folder: Path, build: Path, text: str | None = None) -> Path:
    source = folder / f"main{SUFFIXES[language]}"
    source.write_text(text or block_of(language))
    if language == "python":
        return source
    library = ["-L", str(build / "lib"), f"-Wl,-rpath,{build / 'lib'}", "-ltailrace"]
    compiler = ["mpicc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include")]
    if language == "fortran":
        compiler = ["mpifort", "-Wall", "-Werror", "-I", str(build / "include")]
        library.insert(-1, "-ltailrace_fortran")
    done = subprocess.run(
        [*compiler, str(source), "-o", str(folder / "main"), *library], capture_output=True, text=True, timeout=HANGS_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "main"


@pytest.mark.fast
@pytest.mark.parametrize("language", SUFFIXES)
def test_program(language: str, mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> None:
    mpirun(program_of(language, tmp_path, build_dir), 2, cwd=tmp_path)
    with xarray.open_dataset(tmp_path / "out" / "history.nc", decode_times=False) as dataset:
        hours = np.arange(3, dtype="f4")
        expected = np.broadcast_to((np.float32(273.15) + hours)[:, None, None], (3, 180, 360))
        assert dataset["T"].dims == ("time", "lat", "lon")
        np.testing.assert_array_equal(dataset["T"].values, expected)
        np.testing.assert_array_equal(dataset["time"].values, 3600.0 * hours)
        assert dataset["T"].attrs["units"] == "K"
        if language == "fortran":
            assert dataset["lat"].dims == ("lat",)
            np.testing.assert_array_equal(dataset["lat"].values, np.arange(180) - 89.5)


@pytest.mark.fast
def test_a_second_run_of_the_program_in_fortran(mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> None:
    """As docs/writing.md says: it stops, unless its options begin the stream anew."""
    program = program_of("fortran", tmp_path, build_dir)
    mpirun(program, 2, cwd=tmp_path)
    refused = mpirun(program, 2, cwd=tmp_path, check=False)
    assert refused.returncode != 0
    told = [line for line in refused.stderr.splitlines() if "BAD_ORDER" in line]
    assert 1 <= len(told) <= 2, "a line for each rank, at most"
    assert all("to begin anew, with mode = 'replace'" in line for line in told)
    assert "backtrace" not in refused.output.lower()
    given = "layout = 'hds'"
    anew = block_of("fortran").replace(f'"{given}"', f"\"{given}\" // new_line('a') // \"mode = 'replace'\"")
    assert anew != block_of("fortran")
    mpirun(program_of("fortran", tmp_path, build_dir, anew), 2, cwd=tmp_path)


@pytest.mark.fast
@pytest.mark.parametrize("language", ["python", "fortran"])
def test_readme_program(language: str, mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> None:
    lines = block_of(language, "README.md")
    assert len(lines.splitlines()) <= 10
    mpirun(
        program_of(language, tmp_path, build_dir, FORTRAN.replace("LINES", lines) if language == "fortran" else lines),
        2,
        cwd=tmp_path,
    )
    with xarray.open_dataset(tmp_path / "out" / "history.nc", decode_times=False) as dataset:
        expected = np.repeat(np.float32(273.15) + np.arange(3, dtype="f4")[:, None], 200, axis=1)
        np.testing.assert_array_equal(dataset["T"].values, expected)
        np.testing.assert_array_equal(dataset["time"].values, np.arange(3.0))


def test_readme_records_a_program_as_it_is(build_dir: Path, tmp_path: Path) -> None:
    shutil.move(program_of("c", tmp_path, build_dir), tmp_path / "model")
    environment = {**os.environ, **open_mpi_environment(), "PATH": f"{build_dir / 'bin'}:{os.environ['PATH']}"}
    commands = [line.partition("#")[0].strip() for line in blocks_of("sh", "README.md")[0].splitlines()]
    assert len(commands) == 7
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANGS_S, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    assert (tmp_path / "first.pftrace").stat().st_size > 0
