"""What is installed serves other projects: by CMake and pkg-config, from C and Fortran; the library shows only the contract."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.test_readme import block_of

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer C Fortran)
find_package(tailrace 0.1 REQUIRED)
find_package(MPI REQUIRED COMPONENTS Fortran)
add_executable(from_c main.c)
target_link_libraries(from_c PRIVATE tailrace::tailrace)
add_executable(from_fortran main.f90)
target_link_libraries(from_fortran PRIVATE tailrace::tailrace_fortran MPI::MPI_Fortran)
"""


def checked(command: Sequence[object], **env: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefix")
    checked(["cmake", "--install", build_dir, "--prefix", folder])
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "main.c").write_text(block_of("c"))
    (tmp_path / "main.f90").write_text(block_of("fortran"))
    return tmp_path


def test_cmake_project(prefix: Path, programs: Path, mpirun: Mpirun) -> None:
    (programs / "CMakeLists.txt").write_text(CONSUMER)
    checked(["cmake", "-S", programs, "-B", programs / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"])
    checked(["cmake", "--build", programs / "build"])
    for program in ("from_c", "from_fortran"):
        (programs / program).mkdir()
        mpirun(programs / "build" / program, 2, cwd=programs / program)
        assert (programs / program / "out" / "history.nc").exists()


def test_pkg_config(prefix: Path, programs: Path, mpirun: Mpirun) -> None:
    files = next(prefix.rglob("tailrace.pc")).parent
    flags = checked(["pkg-config", "--cflags", "--libs", "tailrace"], PKG_CONFIG_PATH=str(files)).split()
    library = next(prefix.rglob("libtailrace.so")).parent
    checked(["gcc", "-std=c11", programs / "main.c", "-o", programs / "main", *flags, f"-Wl,-rpath,{library}"])
    mpirun(programs / "main", 2, cwd=programs)
    assert (programs / "out" / "history.nc").exists()


@pytest.mark.fast
def test_library_shows_exactly_the_contract(build_dir: Path) -> None:
    header = (ROOT / "include" / "tailrace" / "tailrace.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(tailrace_\w+)\(", code))
    listing = checked(["nm", "-D", "--defined-only", build_dir / "lib" / "libtailrace.so"])
    assert {line.split()[-1] for line in listing.splitlines()} == declared
    assert len(declared) > 20
