"""Hooks against what the libraries of simulations import: a function of the C library that has to do with files is recorded, or
stands in unrecorded.toml with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from tailrace.trace import launch
from tailrace.trace.elf import read_elf
from tailrace.trace.symbols import UNLISTED, SymbolLists

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Libraries that write files, as patterns, because their versions change. None of them may be missing.
USERS = {
    "Fortran": "libgfortran.so.5",
    "C++": "libstdc++.so.6",
    "HDF5": "libhdf5_serial.so.1*",
    "parallel HDF5": "libhdf5_openmpi.so.1*",
    "netCDF": "libnetcdf.so.*",
    "Open MPI": "libmpi.so.40",
    "MPI-IO of Open MPI": "openmpi/lib/openmpi3/mca_fbtl_posix.so",
    "ROMIO": "openmpi/lib/openmpi3/mca_io_romio321.so",
    "MPICH": "libmpich.so.12",
    "SQLite": "libsqlite3.so.0",
}
# Functions of libraries newer than those here: of the C library, and of HDF5 2.
NEWER = ("__isoc23_", "H5Dread_chunk1", "H5Dread_chunk2")
OF_PLACING = "tailrace_place_"  # what the command line asks the preload library
# Libraries with recorded functions, besides the C library.
HOOKED = (
    "libmpi.so.40",
    "libmpi_mpifh.so.40",
    "libmpi_usempif08.so.40",
    "libmpich.so.12",
    "libmpichfort.so.12",
    "libhdf5_serial.so.1*",
    "libnetcdf.so.*",
    "libnetcdf_mpi.so.*",
    "libpnetcdf.so.*",
    "libaio.so.1",
)


@pytest.fixture(scope="module")
def recorded() -> SymbolLists:
    found = SymbolLists.of(launch.preload_library())
    assert not found.hooked & found.listed.keys(), "recorded, and said not to be"
    assert set(found.listed.values()) | {UNLISTED} == set(found.reasons)
    assert found.gaps <= set(found.reasons)
    return found


@pytest.fixture(scope="module")
def of_c() -> frozenset[str]:
    return read_elf(LIBRARIES / "libc.so.6").exports


@pytest.mark.parametrize("user", USERS)
def test_imports_of_libraries_are_recorded_or_listed(recorded: SymbolLists, of_c: frozenset[str], user: str) -> None:
    found = sorted(LIBRARIES.glob(USERS[user]))
    assert found, f"{user}: no {USERS[user]} in {LIBRARIES}"
    assert UNLISTED not in recorded.unrecorded(read_elf(found[0]).imports & of_c)


def test_every_hook_is_a_function_of_a_library(recorded: SymbolLists, of_c: frozenset[str], build_dir: Path) -> None:
    """A hook with a misspelt name would record nothing."""
    known = set(of_c | read_elf(build_dir / "lib" / "libtailrace.so").exports)
    for pattern in HOOKED:
        found = sorted(LIBRARIES.glob(pattern))
        assert found, f"no {pattern} in {LIBRARIES}"
        known |= read_elf(found[0]).exports
    assert {name for name in recorded.hooked - known if not name.startswith((*NEWER, OF_PLACING))} == set()
