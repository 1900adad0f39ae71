"""An MPI program on nodes of a cluster, by mpirun or srun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailrace.cluster import programs
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.inside.paths import AGENT
from tailrace.cluster.values import COMPUTE, LOGIN, ClusterError
from tailrace.launch import nodes
from tailrace.launch.mpi import MPIS, Mpi
from tailrace.launch.placement import SPREAD, PlacementError, place
from tailrace.trace.launch import PRELOAD_KEY, recording_variables

SHELL = nodes.RemoteShell(AGENT, "eth0")


@dataclass(frozen=True)
class Ranks:
    """How many ranks run, where, and by which launcher."""

    count: int
    nodes: Sequence[str]
    policy: str = SPREAD  # or PACKED
    slots: int = 0  # of a node; 0: the cluster's
    mpi: str = "openmpi"  # a name in MPIS
    slurm: bool = False  # by srun


def run(cluster: Cluster, words: Sequence[str], ranks: Ranks) -> int:
    """Runs the program in the foreground; returns its exit status."""
    command, environment = command_for(cluster, words, ranks)
    return cluster.run(LOGIN, command, environment)


def command_for(cluster: Cluster, words: Sequence[str], ranks: Ranks) -> tuple[list[str], dict[str, str]]:
    """The command for the login node, and the variables that it needs."""
    if ranks.mpi not in MPIS:
        raise ClusterError(f"--mpi '{ranks.mpi}': choose one of {', '.join(MPIS)}")
    mpi = MPIS[ranks.mpi]
    try:
        placed = place(ranks.count, ranks.nodes, ranks.slots or cluster.spec.slots, ranks.policy)
    except PlacementError as error:
        raise ClusterError(str(error)) from None
    variables = rank_variables(mpi)
    words = recorded(words, variables)
    environment = dict(mpi.root_environment)  # a cluster's programs run as root
    if not ranks.slurm:
        return nodes.mpirun_command(mpi, placed, SHELL, variables, words), environment
    if not cluster.spec.slurm:
        raise ClusterError(f"cluster {cluster.name} has no Slurm: make one with `tailrace cluster up --slurm`")
    if others := [node for node, _ in placed if cluster.host(node).role != COMPUTE]:
        raise ClusterError(f"{', '.join(others)}: Slurm has only the compute nodes {', '.join(cluster.compute_nodes)}")
    return nodes.srun_command(mpi, placed, variables, words), environment


def rank_variables(mpi: Mpi) -> dict[str, str]:
    preload = {PRELOAD_KEY: programs.library(mpi.rank_preload)} if mpi.rank_preload else {}
    return {**mpi.rank_environment, **preload}


def recorded(words: Sequence[str], variables: Mapping[str, str]) -> Sequence[str]:
    """The command of a rank. It is recorded where its launcher is: tailrace run -- tailrace cluster run ..."""
    recording = recording_variables()
    if not recording:
        return words
    recording[PRELOAD_KEY] = " ".join(filter(None, [recording[PRELOAD_KEY], variables.get(PRELOAD_KEY, "")]))
    return ["env", *(f"{key}={value}" for key, value in recording.items()), *words]
