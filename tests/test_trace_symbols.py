"""Hooks against what the libraries of simulations import: a function of the C library that has to do with files is recorded, or
stands in unrecorded.toml with the reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tailrace.trace import start

from tests.environment import ROOT
from tests.mpirun import run_within

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Whoever brings files to storage here: patterns, as their versions change. None of them may be missing.
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
# Names that speak of files or descriptors; the rest of the C library (strings, threads, time) is not looked at.
OF_FILES = re.compile(
    r"open|close|read|write|seek|stat|sync|trunc|falloc|dir|link|access|rename|remove|mk(no|fi|st|te)|chmod|chown|utime|dup|fcntl"
    r"|mmap|splice|sendfile|copy_file|put[cws]|get[cws]|getline|getdelim|printf|scanf|flush|lockf|xattr|aio|lio_|exec|spawn|fork"
    r"|syscall|tmpfile|fts|ftw|glob|memfd|tee|advise"
)
NOT_OF_FILES = re.compile(
    r"pthread|sched|wmem|s[nw]?printf|s[w]?scanf|asprintf|strdup|strndup|thread|duplocale|initstate"
    r"|get(pw|gr|sp|serv|proto|host)|backtrace"
)


def names(*arguments: str) -> set[str]:
    shown = run_within(["nm", "-D", *arguments], 30)
    assert shown.returncode == 0, shown.output
    return {line.split()[-1].split("@")[0] for line in shown.stdout.splitlines()}


@pytest.fixture(scope="module")
def known() -> set[str]:
    reasons = tomllib.loads((ROOT / "python/tailrace/trace/unrecorded.toml").read_text())
    assert set(reasons["symbols"]) == set(reasons["reasons"])
    unrecorded = {symbol for symbols in reasons["symbols"].values() for symbol in symbols}
    hooked = names("--defined-only", str(start.preload_library()))
    assert not hooked & unrecorded, "recorded, and said not to be"
    return hooked | unrecorded


@pytest.mark.parametrize("user", USERS)
def test_what_libraries_import_is_recorded_or_said_not_to_be(known: set[str], user: str, needs: Any) -> None:
    needs("nm")
    found = sorted(LIBRARIES.glob(USERS[user]))
    assert found, f"{user}: no {USERS[user]} in {LIBRARIES}"
    of_c = names("--defined-only", str(LIBRARIES / "libc.so.6"))
    imported = names("--undefined-only", str(found[0])) & of_c
    of_files = {name for name in imported if OF_FILES.search(name) and not NOT_OF_FILES.search(name)}
    assert of_files - known == set()


def test_every_hook_is_a_function_of_the_c_library(known: set[str], needs: Any) -> None:
    """A name that is misspelt would record nothing."""
    needs("nm")
    hooked = names("--defined-only", str(start.preload_library()))
    of_c = names("--defined-only", str(LIBRARIES / "libc.so.6"))
    assert hooked - of_c == set()
