"""An MPI program on nodes of a cluster, by mpirun or srun."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.cluster import mpi
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.placement import place
from tailrace.cluster.values import COMPUTE, LOGIN, ClusterError


def launch(
    cluster: Cluster, words: Sequence[str], ranks: int, nodes: Sequence[str], how: str, slots: int, flavour: str, slurm: bool
) -> int:
    """In the foreground; its exit status."""
    command, environment = launcher(cluster, words, ranks, nodes, how, slots, flavour, slurm)
    return cluster.run(LOGIN, command, environment)


def launcher(
    cluster: Cluster,
    words: Sequence[str],
    ranks: int,
    nodes: Sequence[str],
    how: str = "spread",
    slots: int = 0,
    flavour: str = "openmpi",
    slurm: bool = False,
) -> tuple[list[str], dict[str, str]]:
    """The command for the login node, and the variables that it needs."""
    if flavour not in mpi.FLAVOURS:
        raise ClusterError(f"--mpi '{flavour}': choose one of {', '.join(mpi.FLAVOURS)}")
    placed = place(ranks, nodes, slots or cluster.spec.slots, how)
    chosen = mpi.FLAVOURS[flavour]
    if not slurm:
        return chosen.command(placed, words), dict(chosen.environment)
    if not cluster.spec.slurm:
        raise ClusterError(f"cluster {cluster.name} has no Slurm: `tailrace cluster up --slurm` makes one that has")
    if others := [node for node, _ in placed if cluster.host(node).role != COMPUTE]:
        raise ClusterError(f"{', '.join(others)}: Slurm has only the compute nodes {', '.join(cluster.compute_nodes)}")
    # Slurm's own placement is the same: blocks of consecutive ranks.
    most = max(count for _, count in placed)
    where = ["-w", ",".join(node for node, _ in placed), "-N", str(len(placed)), "-n", str(ranks)]
    variables = [f"{name}={value}" for name, value in chosen.of_ranks().items()]
    how_many = [f"--ntasks-per-node={most}", "-m", "block", "--overcommit"]
    return ["srun", f"--mpi={chosen.pmi}", *where, *how_many, "env", *variables, *words], dict(chosen.environment)
