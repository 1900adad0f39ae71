"""The MPIs that Tailrace starts programs with: how a launcher is recognised, and which words and variables it needs.

To add an MPI: its line in MPIS, the names of its programs in tailrace.launch.launchers, its words in tailrace.launch.nodes.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.launch.launchers import LAUNCHERS, Role

VERSION_TIMEOUT_S = 20  # for `mpirun --version`
ANY_MPI = frozenset(launcher.name for launcher in LAUNCHERS if launcher.name in ("mpirun", "mpiexec"))


@dataclass(frozen=True)
class NodeWords:
    """Options and variables of a launcher by which its user names nodes, and the program that reaches them."""

    hosts: frozenset[str] = frozenset()  # options with a list of nodes: n1:2,n2
    host_files: frozenset[str] = frozenset()  # with a file that has a node on each line
    shells: frozenset[str] = frozenset()  # with the program that takes the words of ssh
    pairs: frozenset[str] = frozenset()  # with two values: the name of a setting, and its value
    host_file_variables: tuple[str, ...] = ()
    shell_variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mpi:
    name: str
    program: str  # its launcher, as Debian names it beside other MPIs
    package: str  # Debian's package that has the launcher
    version_words: tuple[str, ...]  # `program --version` prints one of them
    pmi: str  # the interface by which srun starts its ranks
    unbound: tuple[str, ...]  # launcher options by which ranks may run on all cores
    set_variable: tuple[str, ...]  # launcher options that set {name} to {value} for the ranks, and not for the launcher
    pass_variable: tuple[str, ...] = ()  # words that pass {name} on to ranks of other nodes; (): all variables are passed on
    environment: Mapping[str, str] = field(default_factory=dict)  # of the launcher
    root_environment: Mapping[str, str] = field(default_factory=dict)  # of the launcher when root starts it
    rank_environment: Mapping[str, str] = field(default_factory=dict)  # of ranks on several nodes
    rank_preload: str = ""  # a library of Tailrace that ranks on several nodes need
    node_words: NodeWords = NodeWords()

    @property
    def programs(self) -> frozenset[str]:
        return frozenset(launcher.name for launcher in LAUNCHERS if launcher.mpi == self.name and launcher.role is Role.COMMAND)

    def setting(self, variables: Mapping[str, object]) -> list[str]:
        return [word.format(name=name, value=value) for name, value in variables.items() for word in self.set_variable]

    def passing(self, names: Sequence[str]) -> list[str]:
        return [word.format(name=name) for name in names for word in self.pass_variable]


MPIS = {
    mpi.name: mpi
    for mpi in (
        Mpi(
            name="openmpi",
            program="mpirun.openmpi",
            package="openmpi-bin",
            version_words=("Open MPI", "OpenRTE", "PRRTE"),
            pmi="pmix",
            unbound=("--bind-to", "none"),
            set_variable=("-x", "{name}={value}"),
            pass_variable=("-x", "{name}"),
            environment={
                # Open MPI refuses more ranks than cores without these: the first for version 4 and before, the second for 5.
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                # Single copies need a capability that containers withhold; Open MPI would warn in each run.
                "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            },
            root_environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
            node_words=NodeWords(
                hosts=frozenset(("--host", "-host", "-H")),
                host_files=frozenset(("--hostfile", "-hostfile", "--machinefile", "-machinefile", "--default-hostfile")),
                pairs=frozenset(("--mca", "-mca", "--gmca", "-gmca", "--prtemca")),
                # A setting has the name of its variable behind _MCA_.
                host_file_variables=("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"),
                shell_variables=("OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_ssh_agent", "PRTE_MCA_plm_ssh_agent"),
            ),
        ),
        Mpi(
            name="mpich",
            program="mpirun.mpich",
            package="mpich",
            version_words=("HYDRA",),
            pmi="pmi2",
            unbound=("-bind-to", "none"),
            set_variable=("-genv", "{name}", "{value}"),
            rank_environment={"UCX_TLS": "tcp,self"},  # UCX would look for devices that the nodes do not have
            rank_preload="libtailrace_mpich_end.so",  # cluster/mpich/end.c says why
            node_words=NodeWords(
                hosts=frozenset(("-hosts", "--hosts", "-host", "--host")),
                host_files=frozenset(("-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile")),
                shells=frozenset(("-launcher-exec", "--launcher-exec")),
                pairs=frozenset(("-genv", "-env")),
                host_file_variables=("HYDRA_HOST_FILE",),
                shell_variables=("HYDRA_LAUNCHER_EXEC",),
            ),
        ),
    )
}


def mpi_of(launcher: str) -> Mpi | None:
    """The MPI of a launcher, by its file name or its version text: `mpirun` may be any MPI's, or a script. None: not in MPIS."""
    path = os.path.realpath(shutil.which(launcher) or launcher)
    name = Path(path).name
    named = next((mpi for mpi in MPIS.values() if name in mpi.programs), None)
    if named is not None or name not in ANY_MPI:
        return named
    text = version_text(path)
    return next((mpi for mpi in MPIS.values() if any(word in text for word in mpi.version_words)), None)


@functools.cache
def version_text(launcher: str) -> str:
    """The text that `LAUNCHER --version` prints; "" if it cannot be run."""
    try:
        done = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, errors="replace", timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def pass_to_ranks(command: Sequence[str], names: Sequence[str]) -> list[str]:
    """The command, with the words by which its launcher passes these variables to ranks on all nodes."""
    mpi = mpi_of(command[0])
    return [command[0], *(mpi.passing(names) if mpi else []), *command[1:]]
