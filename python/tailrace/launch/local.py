"""Ranks on this machine, started by the `mpirun` on the PATH, whichever MPI it is from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tailrace.launch.mpi import MPIS, version_text

MPIRUN = "mpirun"
NONE = "none"  # no launcher: the command starts the ranks itself
CHOICES = (MPIRUN, NONE)


def mpirun_command(ranks: int, words: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """The command that starts the ranks. Open MPI and MPICH both know its options."""
    return [MPIRUN, "-n", str(ranks), "--bind-to", "none", *options, *words]


def launcher_environment(base: Mapping[str, str], as_root: bool | None = None) -> dict[str, str]:
    """`base` with the variables that a launcher needs; the values in `base` override them. It gets the variables of all MPIs,
    because a launcher ignores those of another MPI."""
    is_root = os.geteuid() == 0 if as_root is None else as_root
    needed = {name: value for mpi in MPIS.values() for name, value in mpi.environment.items()}
    for_root = {name: value for mpi in MPIS.values() for name, value in mpi.root_environment.items()}
    return {**needed, **base, **(for_root if is_root else {})}


def mpi_version() -> str:
    """The name and version of the MPI of `mpirun`. Open MPI prints them on the first line, MPICH's launcher on a later one."""
    lines = [line for line in version_text(MPIRUN).splitlines() if line.strip()]
    if not lines:
        return "not found"
    version = next((line.split(":", 1)[1].strip() for line in lines if line.strip().startswith("Version:")), "")
    return f"{lines[0].split()[0]} {version}" if version else lines[0]
