"""The Python packages that an ensemble needs and the base install lacks. They are looked for before the first member runs."""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.ensemble.values import FLOPY_KINDS, EnsembleError, Spec
from tailrace.extras import can_import, install_command

# Files of the folder that need a package. Without it a run writes the others, and `tailrace ensemble report` writes them later.
FILES = {"members.parquet": "pyarrow", "members.nc": "netCDF4", "index.html": "jinja2", "fields.nc": "netCDF4"}
SAMPLERS_OF_SCIPY = ("latin-hypercube", "sobol")
ENGINES = {"mpi": "mpi4py", "dask": "distributed", "parsl": "parsl"}


def look_for_packages(spec: Spec, draws: bool = True) -> None:
    """Raises EnsembleError for the packages without which members cannot run, or lose what the ensemble file asks for. `draws`:
    whether the parameters come from the file's table or sampler."""
    missing = {package: what for package, what in _needed(spec, draws) if not can_import(package)}
    if missing:
        first = next(iter(missing.values()))
        more = ', or choose sampler = "random"' if list(missing) == ["scipy"] else ""
        more = ", or choose threads" if first.startswith("engine") else more
        needs = "; ".join(f"{what} needs {package}" for package, what in missing.items())
        commands = " and ".join(dict.fromkeys(install_command(package, "ensemble") for package in missing))
        raise EnsembleError(f"{needs}, which cannot be imported: {commands}{more}")


def _needed(spec: Spec, draws: bool) -> Iterator[tuple[str, str]]:
    """Package and what needs it."""
    if draws and spec.parameters.sampler in SAMPLERS_OF_SCIPY:
        yield "scipy", f"sampler '{spec.parameters.sampler}'"
    if draws and spec.parameters.file.endswith(".parquet"):
        yield "pyarrow", f"[parameters] file '{spec.parameters.file}'"
    if spec.fields:
        yield "netCDF4", "[fields]"
    for reading in spec.readings:
        if reading.kind == "netcdf":
            yield "netCDF4", f"result '{reading.name}'"
        if reading.kind in FLOPY_KINDS:
            yield "flopy", f"result '{reading.name}'"
    for field in spec.fields:
        if field.kind in FLOPY_KINDS:
            yield "flopy", f"field '{field.name}'"
    if package := ENGINES.get(spec.engine.name):
        yield package, f"engine '{spec.engine.name}'"


def files_without_package(spec: Spec) -> dict[str, str]:
    """The files of the folder that cannot be written here, each with the package that it needs."""
    return {name: package for name, package in FILES.items() if (spec.fields or name != "fields.nc") and not can_import(package)}
