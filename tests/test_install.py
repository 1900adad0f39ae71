"""What is installed serves other projects: by CMake and pkg-config, from C and Fortran, by pip from Python; the library shows only
the contract."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
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


def configure(project: Path, prefix: Path, mpi: Mpi, consumer: str = CONSUMER) -> list[str]:
    (project / "CMakeLists.txt").write_text(consumer)
    where = ["-S", str(project), "-B", str(project / "build"), "-G", "Ninja"]
    return ["cmake", *where, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_EXECUTABLE_SUFFIX={mpi.suffix}"]


def test_cmake_project(prefix: Path, programs: Path, mpi: Mpi, mpirun: Mpirun) -> None:
    checked(configure(programs, prefix, mpi))
    checked(["cmake", "--build", programs / "build"])
    for program in ("from_c", "from_fortran"):
        (programs / program).mkdir()
        mpirun(programs / "build" / program, 2, cwd=programs / program)
        assert (programs / program / "out" / "history.nc").exists()


OF_CXX = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(tailrace REQUIRED)
add_executable(model main.cpp)
target_compile_features(model PRIVATE cxx_std_20)
target_link_libraries(model PRIVATE tailrace::tailrace)
"""
CXX = "#include <tailrace/tailrace.hpp>\nint main() { return tailrace_version()[0] == 0; }\n"
PAGES = {page: block_of("cmake", page) for page in ("docs/writing.md", "docs/porting.md")}
LANGUAGES = {**PAGES, "C++ alone": OF_CXX}


@pytest.mark.parametrize("name", LANGUAGES)
def test_cmake_project_of_one_language(prefix: Path, programs: Path, mpi: Mpi, mpirun: Mpirun, name: str) -> None:
    """A project without C has no MPI::MPI_C; Fortran needs the module of MPI, too."""
    (programs / "main.cpp").write_text(CXX)
    consumer = LANGUAGES[name]
    checked(configure(programs, prefix, mpi, consumer))
    checked(["cmake", "--build", programs / "build"])
    found = re.search(r"add_executable\((\w+)", consumer)
    assert found is not None
    mpirun(programs / "build" / found.group(1), 2, cwd=programs)
    assert (programs / "out" / "history.nc").exists() == (name in PAGES)


@pytest.mark.parametrize("consumer", [CONSUMER, PAGES["docs/writing.md"]], ids=["C and Fortran", "Fortran alone"])
def test_cmake_project_with_another_mpi(prefix: Path, programs: Path, mpi: Mpi, consumer: str) -> None:
    other = next(candidate for candidate in MPIS.values() if candidate != mpi)
    refused = run_within(configure(programs, prefix, other, consumer))
    assert refused.returncode != 0
    assert "choose the same one" in refused.stderr, refused.output


@pytest.mark.parametrize(("package", "source"), [("tailrace", "main.c"), ("tailrace_fortran", "main.f90")])
def test_pkg_config(prefix: Path, programs: Path, mpirun: Mpirun, mpi: Mpi, package: str, source: str) -> None:
    files = next(prefix.rglob(f"{package}.pc")).parent
    flags = checked(["pkg-config", "--cflags", "--libs", package], PKG_CONFIG_PATH=str(files)).split()
    compiler = ["gcc", "-std=c11"] if package == "tailrace" else [f"mpifort{mpi.suffix}"]
    checked([*compiler, programs / source, "-o", programs / "main", *flags])
    mpirun(programs / "main", 2, cwd=programs)
    assert (programs / "out" / "history.nc").exists()


def test_pkg_config_without_rpath(prefix: Path) -> None:
    """As packages for /usr/lib want it."""
    files = next(prefix.rglob("tailrace.pc")).parent
    words = ["pkg-config", "--define-variable=rpath=", "--libs", "tailrace_fortran"]
    flags = checked(words, PKG_CONFIG_PATH=str(files)).split()
    assert {"-ltailrace", "-ltailrace_fortran"} <= set(flags)
    assert not [flag for flag in flags if str(prefix) in flag and "rpath" in flag]


def test_manual_pages_come_with_the_commands(prefix: Path) -> None:
    """Here there are none: the Python package has the command and its pages."""
    assert not list(prefix.rglob("bin/tailrace"))
    assert not list(prefix.rglob("*.1"))


@pytest.mark.fast
def test_library_shows_exactly_the_contract(build_dir: Path) -> None:
    header = (ROOT / "include" / "tailrace" / "tailrace.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(tailrace_\w+)\(", code))
    listing = checked(["nm", "-D", "--defined-only", build_dir / "lib" / "libtailrace.so"])
    assert {line.split()[-1] for line in listing.splitlines()} == declared
    assert len(declared) > 20


# ---- the Python package ----------------------------------------------------------------------------------------------------------

ALONE = {"PYTHONPATH": ""}
KIND = sysconfig.get_config_var("SOABI")  # in the names of extensions
# What works in the base install, and what says which extra it needs.
WORKS = [
    ["--help"],
    ["--version"],
    ["keys"],
    ["plan", "hds", "--shape", "T:16x32"],
    ["ls", "out"],
    ["verify", "--deep", "out"],
    ["combine", "out", "one.nc"],
    ["convert", "out", "other", "--layout", "hds"],
    ["resolve"],
    ["check", "/bin/true"],
    ["run", "--log", "log", "--", "/bin/true"],
    ["coverage", "log"],
]
NEEDS = {"trace": [["trace", "show", "log"], ["trace", "phases", "log"], ["report", "log"]]}


def environment(folder: Path, requirement: str) -> Path:
    """A new environment, which has nothing of the checkout's but what pip puts there. Its Python."""
    python = folder / "bin" / "python"
    checked([sys.executable, "-m", "venv", folder])
    installed = run_within([str(python), "-m", "pip", "install", requirement], ALONE, timeout_s=600)
    assert installed.returncode == 0, installed.output
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `pip install .` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    built = run_within([sys.executable, "-m", "venv", str(folder / "builder")])
    assert built.returncode == 0, built.output
    words = [folder / "builder" / "bin" / "python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT]
    built = run_within([str(word) for word in words], ALONE, timeout_s=1500)
    assert built.returncode == 0, built.output
    return next(folder.glob("tailrace-*.whl"))


@pytest.mark.full
@pytest.mark.timeout(2400)
def test_wheel_has_each_library_once_and_stripped(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    binaries = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    names = [path.name.partition(".so")[0] for path in binaries]
    libraries = [name for name in names if name.startswith("lib")]
    assert len(libraries) == len(set(libraries)), sorted(libraries)
    assert {"libtailrace", "libtailrace-preload", "libtailrace_fortran"} <= set(libraries)
    others = sorted(set(names) - set(libraries))
    assert others == sorted({f"_core.{KIND}", f"_journal.{KIND}", "tailrace-switch", "tailraced"})
    assert names.count(f"_core.{KIND}") == 2, "for MPI, and for one process"
    for path in binaries:
        assert ".debug_info" not in checked(["readelf", "--section-headers", "--wide", path]), f"{path} is not stripped"
    facts = next(tmp_path.glob("*.dist-info"))
    entries = configparser.ConfigParser()
    entries.read(facts / "entry_points.txt")
    assert entries["xarray.backends"]["tailrace"] == "tailrace.xarray_engine:TailraceBackendEntrypoint"
    assert entries["console_scripts"]["tailrace"] == "tailrace.cli:main"
    pages = {path.name for path in (ROOT / "docs" / "man").iterdir()}
    assert {path.name for path in next(tmp_path.glob("*.data/data/share/man/man1")).iterdir()} == pages


@pytest.mark.full
@pytest.mark.timeout(2400)
def test_base_install(wheel: Path, tmp_path: Path) -> None:
    """One process, without mpi4py, pyarrow and xarray."""
    python = environment(tmp_path / "venv", str(wheel))
    command = python.with_name("tailrace")
    write = (
        "import numpy as np, tailrace, tailrace.trace\n"
        "with tailrace.open('out', 'history') as stream:\n"
        "    stream.dim('x', 3); stream.var('T', ('x',), 'f4')\n"
        "    with stream.step(0.0) as step: step['T'] = np.ones(3, 'f4')\n"
        "with tailrace.open_read('out', 'history', verify=True) as reader: assert reader.get('T').sum() == 3\n"
    )
    written = run_within([str(python), "-c", write], ALONE, cwd=tmp_path)
    assert written.returncode == 0, written.output
    for words in WORKS:
        done = run_within([str(command), *words], ALONE, cwd=tmp_path)
        assert done.returncode == 0, done.output
    for extra, commands in NEEDS.items():
        for words in commands:
            done = run_within([str(command), *words], ALONE, cwd=tmp_path)
            assert done.returncode == 2, done.output
            assert f"pip install 'tailrace[{extra}]'" in done.output


@pytest.mark.full
@pytest.mark.timeout(2400)
def test_install_with_mpi_and_xarray(wheel: Path, tmp_path: Path, mpirun: Mpirun) -> None:
    python = environment(tmp_path / "venv", f"tailrace[mpi,netcdf] @ file://{wheel}")
    (tmp_path / "main.py").write_text(block_of("python"))
    mpirun(python, 2, [tmp_path / "main.py"], cwd=tmp_path, env=ALONE)
    assert (tmp_path / "out" / "history.nc").exists()
    where = checked([python, "-c", "import tailrace; print(tailrace.__file__)"], **ALONE)
    assert Path(where).is_relative_to(tmp_path)
    assert checked([python, "-c", "from tailrace import _core; print(_core.WITH_MPI)"], **ALONE).strip() == "True"
    # xarray finds the engine by the entry point of the package.
    look = "import xarray, sys; print(*xarray.open_dataset(sys.argv[1], engine='tailrace').load().sizes)"
    assert "time" in checked([python, "-c", look, tmp_path / "out" / "history.nc"], **ALONE)
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "tailrace-verify.1").exists()
    checked([python.with_name("tailrace"), "verify", "--deep", tmp_path / "out"], **ALONE)
