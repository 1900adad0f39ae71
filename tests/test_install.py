"""What is installed serves other projects: by CMake and pkg-config, from C and Fortran, by pip from Python; the library shows only
the contract."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.environment import HANGS_S, ROOT
from tests.mpirun import Mpirun, run_within
from tests.mpis import MPIS, Mpi
from tests.test_readme import block_of

pytestmark = pytest.mark.both_mpis(1)

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
    done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 0, f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(mpirun: Mpirun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefix")
    checked(["cmake", "--install", mpirun.build, "--prefix", folder])
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "main.c").write_text(block_of("c"))
    (tmp_path / "main.f90").write_text(block_of("fortran"))
    return tmp_path


def configure(project: Path, prefix: Path, mpi: Mpi) -> list[str]:
    (project / "CMakeLists.txt").write_text(CONSUMER)
    where = ["-S", str(project), "-B", str(project / "build"), "-G", "Ninja"]
    return ["cmake", *where, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_EXECUTABLE_SUFFIX={mpi.suffix}"]


def test_cmake_project(prefix: Path, programs: Path, mpi: Mpi, mpirun: Mpirun) -> None:
    checked(configure(programs, prefix, mpi))
    checked(["cmake", "--build", programs / "build"])
    for program in ("from_c", "from_fortran"):
        (programs / program).mkdir()
        mpirun(programs / "build" / program, 2, cwd=programs / program)
        assert (programs / program / "out" / "history.nc").exists()


def test_cmake_project_with_another_mpi(prefix: Path, programs: Path, mpi: Mpi) -> None:
    other = next(candidate for candidate in MPIS.values() if candidate != mpi)
    refused = run_within(configure(programs, prefix, other))
    assert refused.returncode != 0
    assert "choose the same one" in refused.stderr, refused.output


@pytest.mark.parametrize(("package", "source"), [("tailrace", "main.c"), ("tailrace_fortran", "main.f90")])
def test_pkg_config(prefix: Path, programs: Path, mpirun: Mpirun, mpi: Mpi, package: str, source: str) -> None:
    files = next(prefix.rglob(f"{package}.pc")).parent
    flags = checked(["pkg-config", "--cflags", "--libs", package], PKG_CONFIG_PATH=str(files)).split()
    library = next(prefix.rglob("libtailrace.so")).parent
    compiler = ["gcc", "-std=c11"] if package == "tailrace" else [f"mpifort{mpi.suffix}"]
    checked([*compiler, programs / source, "-o", programs / "main", *flags, f"-Wl,-rpath,{library}"])
    mpirun(programs / "main", 2, cwd=programs)
    assert (programs / "out" / "history.nc").exists()


def test_manual_pages(prefix: Path) -> None:
    pages = {path.name for path in (ROOT / "docs" / "man").iterdir()}
    assert {path.name for path in (prefix / "share" / "man" / "man1").iterdir()} == pages


@pytest.mark.fast
def test_library_shows_exactly_the_contract(build_dir: Path) -> None:
    header = (ROOT / "include" / "tailrace" / "tailrace.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(tailrace_\w+)\(", code))
    listing = checked(["nm", "-D", "--defined-only", build_dir / "lib" / "libtailrace.so"])
    assert {line.split()[-1] for line in listing.splitlines()} == declared
    assert len(declared) > 20


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_pip_install(tmp_path: Path, mpirun: Mpirun) -> None:
    """In a new environment, which has nothing of the checkout's but what pip puts there."""
    python = tmp_path / "venv" / "bin" / "python"
    alone = {"PYTHONPATH": ""}
    checked([sys.executable, "-m", "venv", tmp_path / "venv"])
    installed = run_within([str(python), "-m", "pip", "install", f"{ROOT}[mpi,netcdf]"], alone, timeout_s=1500)
    assert installed.returncode == 0, installed.output
    (tmp_path / "main.py").write_text(block_of("python"))
    mpirun(python, 2, [tmp_path / "main.py"], cwd=tmp_path, env=alone)
    assert (tmp_path / "out" / "history.nc").exists()
    where = checked([python, "-c", "import tailrace; print(tailrace.__file__)"], **alone)
    assert Path(where).is_relative_to(tmp_path)
    assert checked([python, "-c", "from tailrace import _core; print(_core.WITH_MPI)"], **alone).strip() == "True"
    # xarray finds the engine by the entry point of the package.
    look = "import xarray, sys; print(*xarray.open_dataset(sys.argv[1], engine='tailrace').load().sizes)"
    assert "time" in checked([python, "-c", look, tmp_path / "out" / "history.nc"], **alone)
    binaries = [path for path in Path(where).parent.rglob("*") if path.suffix == ".so" or ".so." in path.name]
    assert len({path.name.partition(".so")[0] for path in binaries if path.name.startswith("lib")}) == sum(
        path.name.startswith("lib") for path in binaries
    ), "each library is there once"
    for path in binaries:
        assert ".debug_info" not in checked(["readelf", "--section-headers", "--wide", path]), f"{path} is not stripped"
    assert "verify" in checked([python.with_name("tailrace"), "--help"], **alone)
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "tailrace-verify.1").exists()
    checked([python.with_name("tailrace"), "verify", "--deep", tmp_path / "out"], **alone)
