"""Programs that start ranks and are no ranks themselves, and the variables in which they give a rank its number.

The tracer has both lists too, in src/trace/process.cpp, because it runs in every process and calls no Python. A test compares them
(tests/test_launch.py).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Role(enum.Enum):
    COMMAND = "command"  # typed by a user
    DAEMON = "daemon"  # started by a command, on each node
    REMOTE_SHELL = "remote shell"  # started by a command, to reach another node


@dataclass(frozen=True)
class Launcher:
    name: str  # of the program's file
    mpi: str = ""  # a name in tailrace.launch.mpi.MPIS; "": it may start ranks of any MPI
    role: Role = Role.COMMAND


LAUNCHERS = (
    Launcher("mpirun"),
    Launcher("mpiexec"),
    Launcher("orterun", "openmpi"),
    Launcher("prterun", "openmpi"),
    Launcher("mpirun.openmpi", "openmpi"),
    Launcher("mpiexec.openmpi", "openmpi"),
    Launcher("orted", "openmpi", Role.DAEMON),
    Launcher("prted", "openmpi", Role.DAEMON),
    Launcher("mpiexec.hydra", "mpich"),
    Launcher("mpirun.mpich", "mpich"),
    Launcher("mpiexec.mpich", "mpich"),
    Launcher("hydra_pmi_proxy", "mpich", Role.DAEMON),
    Launcher("srun"),
    Launcher("sbatch"),
    Launcher("salloc"),
    Launcher("slurmstepd", role=Role.DAEMON),
    Launcher("ssh", role=Role.REMOTE_SHELL),
    Launcher("sshd", role=Role.REMOTE_SHELL),
)
LAUNCHER_NAMES = frozenset(launcher.name for launcher in LAUNCHERS)

# Variables with a rank's number: of Open MPI, PMI (MPICH), PMIx and Slurm. The first that is set counts.
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
# The number of ranks, for the record of a rank. Whether a process is a rank, they do not show: see tailrace.launched.
SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def rank_in(environment: Mapping[str, str]) -> int | None:
    """The rank of a process by its environment; None where no launcher gave it one."""
    return next((int(environment[name]) for name in RANK_VARIABLES if environment.get(name, "").isdigit()), None)
