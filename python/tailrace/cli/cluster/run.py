"""tailrace cluster run: ranks on chosen nodes."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from tailrace.cli.cluster.choices import DEFAULT, TheCluster, nodes_of
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.launch import launch
from tailrace.cluster.mpi import FLAVOURS
from tailrace.cluster.placement import PACKED, SPREAD
from tailrace.cluster.start import up
from tailrace.cluster.values import ClusterSpec


def command(
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments.")],
    ranks: Annotated[int, typer.Option("--ranks", "-n", help="Ranks.")] = 4,
    nodes: Annotated[
        str, typer.Option("--nodes", metavar="NODE,...", help="On these nodes; default: all compute nodes.")
    ] = "nodes",
    packed: Annotated[bool, typer.Option("--packed/--spread", help="As few nodes as can be, or all of them equally.")] = False,
    slots: Annotated[int, typer.Option("--slots", help="Ranks that a node takes; 0: as the cluster has it.")] = 0,
    mpi: Annotated[str, typer.Option("--mpi", help=f"{', '.join(FLAVOURS)}: whose mpirun.")] = "openmpi",
    slurm: Annotated[bool, typer.Option("--slurm", help="By srun and PMIx instead of mpirun.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="In a new cluster of default size, which ends with this run.")] = False,
    cluster: TheCluster = DEFAULT,
) -> None:
    """Runs an MPI program on nodes of the cluster; ends with its exit status.

    mpirun runs on the login node and starts the ranks through the cluster's own remote shell. Consecutive ranks share a node.

    Examples: [bold]tailrace cluster run --ranks 8 --packed ./a.out[/] ·
    [bold]tailrace cluster run --ranks 4 --nodes n1,n3 --mpi mpich ./a.out --steps 3[/] ·
    [bold]tailrace cluster run --ranks 8 --slurm ./a.out[/]
    """
    how = PACKED if packed else SPREAD
    program = words[1:] if words[0] == "--" else words
    if fresh:
        with up(dataclasses.replace(ClusterSpec(cluster), slurm=slurm)) as made:
            raise typer.Exit(launch(made, program, ranks, nodes_of(made, [nodes]), how, slots or made.spec.slots, mpi, slurm))
    found = Cluster(cluster)
    raise typer.Exit(launch(found, program, ranks, nodes_of(found, [nodes]), how, slots or found.spec.slots, mpi, slurm))
