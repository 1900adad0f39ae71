"""An MPI program on nodes of a cluster, by mpirun or srun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailrace.cluster import mpi
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.placement import SPREAD, place
from tailrace.cluster.values import COMPUTE, LOGIN, ClusterError
from tailrace.trace.launch import PRELOAD_KEY, recording_variables


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
    how: str = SPREAD,
    slots: int = 0,
    flavour: str = "openmpi",
    slurm: bool = False,
) -> tuple[list[str], dict[str, str]]:
    """The command for the login node, and the variables that it needs."""
    if flavour not in mpi.FLAVOURS:
        raise ClusterError(f"--mpi '{flavour}': choose one of {', '.join(mpi.FLAVOURS)}")
    placed = place(ranks, nodes, slots or cluster.spec.slots, how)
    chosen = mpi.FLAVOURS[flavour]
    words = recorded(words, chosen.of_ranks())
    if not slurm:
        return chosen.command(placed, words), dict(chosen.environment)
    if not cluster.spec.slurm:
        raise ClusterError(f"cluster {cluster.name} has no Slurm: `tailrace cluster up --slurm` makes one that has")
    if others := [node for node, _ in placed if cluster.host(node).role != COMPUTE]:
        raise ClusterError(f"{', '.join(others)}: Slurm has only the compute nodes {', '.join(cluster.compute_nodes)}")
    # Rank by rank: Slurm's own placement sorts the nodes, and does not pack a last node that is not full.
    where = ",".join(node for node, count in placed for _ in range(count))
    how_many = ["-N", str(len(placed)), "-n", str(ranks), "--overcommit"]
    variables = [f"{name}={value}" for name, value in chosen.of_ranks().items()]
    words = ["env", *variables, *words]
    return ["srun", f"--mpi={chosen.pmi}", "-m", "arbitrary", "-w", where, *how_many, *words], dict(chosen.environment)


def recorded(words: Sequence[str], of_ranks: Mapping[str, str]) -> Sequence[str]:
    """The command of a rank, which is recorded where its launcher is (tailrace run -- tailrace cluster run ...)."""
    variables = recording_variables()
    if not variables:
        return words
    preloads = [variables[PRELOAD_KEY], of_ranks.get(PRELOAD_KEY, "")]
    variables[PRELOAD_KEY] = " ".join(filter(None, preloads))
    return ["env", *(f"{key}={value}" for key, value in variables.items()), *words]
