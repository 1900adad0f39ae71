"""Python without MPI: in a root that has no file of MPI or HDF5, everything that one process does works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace

from tests.environment import ROOT

# What the base install has, with xarray; not mpi4py, h5py and netCDF4, which bring libraries of MPI or HDF5 along.
PACKAGES = [
    "numpy",
    "numpy.libs",
    "rich",
    "pygments",
    "markdown_it",
    "mdurl",
    "typer",
    "click",
    "shellingham",
    "annotated_doc",
    "typing_extensions.py",
    "tomli_w",
    "elftools",
    "iced_x86",
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_inspection",
    "xarray",
    "pandas",
    "dateutil",
    "packaging",
    "six.py",
    "pytz",
    "tzdata",
]
FOREIGN = re.compile(r"lib(mpi|hdf5|open-|netcdf|pmix|ucp)")


def libraries_of(files: list[Path]) -> set[Path]:
    """Those of the system that they need, of MPI and HDF5 excepted."""
    shown = subprocess.run(["ldd", *files], capture_output=True, text=True).stdout
    found = {Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", shown, re.MULTILINE)}
    return {path for path in found if not FOREIGN.match(path.name)}


class Root:
    """A folder that becomes the root directory of a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mounts: list[str] = []

    def bind(self, path: Path) -> None:
        """The file or folder, at the same place."""
        place = self.folder / path.relative_to("/")
        if path.is_dir():
            place.mkdir(parents=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        self.mounts.append(f"mount --bind '{path}' '{place}'")

    def copy(self, path: Path) -> None:
        place = self.folder / path.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)

    def run(self, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """In a mount namespace of its own, so that nothing is left behind."""
        script = "\n".join(["set -e", *self.mounts, 'exec chroot "$0" "$@"'])
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, str(self.folder), *map(str, words)],
            env={"HOME": "/tmp", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **variables},
            capture_output=True,
            text=True,
            timeout=600,
        )


@pytest.fixture
def root(tmp_path: Path, needs: Any) -> Root:
    needs("unshare")
    if os.geteuid() != 0:
        pytest.skip("only root may change the root directory of a program")
    made = Root(tmp_path / "root")
    site = Path(sysconfig.get_path("purelib"))
    stdlib = Path(sysconfig.get_path("stdlib"))
    python = Path(sys.executable).resolve()
    made.bind(stdlib)
    packages = [site / name for name in PACKAGES if (site / name).exists()]
    stems = {name.removesuffix(".py") for name in PACKAGES}  # xarray asks for versions
    for facts in site.glob("*.dist-info"):
        if facts.name.partition("-")[0].lower() in stems | {"pyelftools", "markdown_it_py", "python_dateutil"}:
            made.bind(facts)
    tailrace_package = Path(tailrace.__file__).parent
    for path in (*packages, tailrace_package, ROOT / "tests" / "python_without_mpi.py"):
        made.bind(path)
    preload = ROOT / "build" / "lib" / "libtailrace-preload.so"
    made.copy(preload)
    if (ROOT / "build" / "lib" / "libtailrace.so.0").exists():  # it is there, and cannot be loaded
        made.bind(ROOT / "build" / "lib" / "libtailrace.so.0")
    made.copy(python)
    objects = [path for folder in (stdlib / "lib-dynload", *packages, tailrace_package) for path in folder.rglob("*.so*")]
    for library in libraries_of([python, preload, *objects]):
        if not library.is_relative_to(site) and not library.is_relative_to(ROOT):
            made.copy(library)
    for folder in ("tmp", "proc", "dev/shm", "out"):
        (made.folder / folder).mkdir(parents=True)
    made.mounts.append(f"mount -t proc proc '{made.folder}/proc'")
    made.mounts.append(f"mount -t tmpfs tmpfs '{made.folder}/dev/shm'")
    made.bind(Path("/dev/null"))
    return made


def test_works_without_the_libraries_of_mpi_and_hdf5(root: Root) -> None:
    assert find_spec("mpi4py"), "otherwise the build for one process is loaded here, too"
    python = Path(sys.executable).resolve()
    paths = f"{Path(tailrace.__file__).parents[1]}:{sysconfig.get_path('purelib')}"
    done = root.run(python, ROOT / "tests" / "python_without_mpi.py", "/out", PYTHONPATH=paths, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    # What it has written is what the others read.
    written = root.folder / "out"
    for path in (*sorted(written.glob("*-[012]/h.nc")), written / "combined.nc", written / "converted" / "h.nc"):
        with netCDF4.Dataset(path) as file:
            np.testing.assert_array_equal(
                file["T"][:], (np.arange(48).reshape(6, 8) + 100 * np.arange(3)[:, None, None]).astype("f4")
            )
            np.testing.assert_array_equal(file["mass"][:], [0.0, 1.5, 3.0])
    assert len(list(written.glob("*-[012]/h.nc"))) == 21
