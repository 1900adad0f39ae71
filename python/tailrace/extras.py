"""The extras of the package `tailrace`, and the Python packages that each installs: what the base install may lack."""

from __future__ import annotations

import importlib

# As in pyproject.toml. Of two extras that install a package, the first one is named, unless the command has an extra of its name.
PACKAGES = {
    "mpi": ("mpi4py",),
    "trace": ("darshan", "duckdb", "jinja2", "otf2", "perfetto", "pyarrow"),
    "netcdf": ("netCDF4", "xarray"),
    "study": ("jinja2", "netCDF4", "pyarrow", "xarray"),
    "ensemble": ("jinja2", "netCDF4", "pyarrow", "scipy"),
    "engines": ("distributed", "parsl"),
    "modflow": ("flopy",),
    "compare": ("h5py", "netCDF4"),
}


def extra_of(package: str, command: str = "") -> str | None:
    """The extra that installs the package; None where no extra does. `command`: for which command of `tailrace`."""
    if package in PACKAGES.get(command, ()):
        return command
    return next((extra for extra, packages in PACKAGES.items() if package in packages), None)


def install_command(package: str, command: str = "") -> str:
    extra = extra_of(package, command)
    return f"pip install 'tailrace[{extra}]'" if extra else f"pip install {package}"


def can_import(package: str) -> bool:
    """Whether the package is there and works; it is imported."""
    try:
        importlib.import_module(package)
    except Exception:  # one that is there for another version of numpy raises ValueError or AttributeError
        return False
    return True
