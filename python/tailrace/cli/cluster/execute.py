"""tailrace cluster exec: a program on a node."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli.cluster.choices import DEFAULT, TheCluster, TheNode
from tailrace.cluster.cluster import Cluster


def command(
    node: TheNode,
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments.")],
    cluster: TheCluster = DEFAULT,
) -> None:
    """Runs a program on a node, with this terminal's input and output. Its exit status is the program's.

    The node sees the machine's files, and its own at /mnt/scratch, /mnt/pfs, /dev/shm and /run. Options come before NODE.

    Examples: [bold]tailrace cluster exec n1 -- df -h /mnt/pfs[/] · [bold]tailrace cluster exec login -- srun -N 4 hostname[/] ·
    [bold]tailrace cluster exec -c drill n2 -- bash[/]
    """
    raise typer.Exit(Cluster(cluster).run(node, words[1:] if words[0] == "--" else words))
