"""tailrace cluster run: ranks on chosen nodes."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from tailrace.cli.cluster.choices import DEFAULT, TheCluster, nodes_of
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.launch import up
from tailrace.cluster.ranks import Ranks, run
from tailrace.cluster.values import ClusterSpec
from tailrace.launch.mpi import MPIS
from tailrace.launch.placement import PACKED, SPREAD


def command(
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments.")],
    ranks: Annotated[int, typer.Option("--ranks", "-n", help="Number of ranks.")] = 4,
    nodes: Annotated[
        str, typer.Option("--nodes", metavar="NODE,...", help="Run on these nodes; default: all compute nodes.")
    ] = "nodes",
    packed: Annotated[
        bool, typer.Option("--packed/--spread", help="Put the ranks on as few nodes as possible, or on all nodes equally.")
    ] = False,
    slots: Annotated[int, typer.Option("--slots", help="Most ranks of a node; 0: as many as the cluster was made with.")] = 0,
    mpi: Annotated[str, typer.Option("--mpi", help=f"MPI whose mpirun starts the ranks: {' or '.join(MPIS)}.")] = "openmpi",
    slurm: Annotated[bool, typer.Option("--slurm", help="Start ranks by srun and PMIx instead of mpirun.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run in a new cluster of default size, which ends with this run.")] = False,
    cluster: TheCluster = DEFAULT,
) -> None:
    """Runs an MPI program on nodes of the cluster. The exit status is the program's.

    mpirun runs on the login node and starts the ranks through the cluster's own remote shell. Consecutive ranks share a node.

    Examples: [bold]tailrace cluster run --ranks 8 --packed ./a.out[/] ·
    [bold]tailrace cluster run --ranks 4 --nodes n1,n3 --mpi mpich ./a.out --steps 3[/] ·
    [bold]tailrace cluster run --ranks 8 --slurm ./a.out[/]
    """
    policy = PACKED if packed else SPREAD
    program = words[1:] if words[0] == "--" else words

    def run_on(where: Cluster) -> int:
        return run(where, program, Ranks(ranks, nodes_of(where, [nodes]), policy, slots, mpi, slurm))

    if fresh:
        with up(dataclasses.replace(ClusterSpec(cluster), slurm=slurm)) as own:
            raise typer.Exit(run_on(own))
    raise typer.Exit(run_on(Cluster(cluster)))
