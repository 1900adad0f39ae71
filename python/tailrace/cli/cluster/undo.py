"""tailrace cluster undo: ends faults."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster, complete_fault, complete_node
from tailrace.cluster import faults
from tailrace.cluster.cluster import Cluster


def command(
    fault: Annotated[str | None, typer.Argument(help="Undo only this fault.", autocompletion=complete_fault)] = None,
    node: Annotated[str | None, typer.Argument(help="Undo only on this node.", autocompletion=complete_node)] = None,
    cluster: TheCluster = DEFAULT,
    as_json: output.AsJson = False,
) -> None:
    """Undoes faults, servers before their clients: all of them, or only those that are named.

    Examples: [bold]tailrace cluster undo[/] · [bold]tailrace cluster undo cut[/] · [bold]tailrace cluster undo kill store1[/]
    """
    undone = faults.undo(Cluster(cluster), fault, node)
    if as_json:
        output.print_json({"undone": undone})
    else:
        output.console().print(output.escape(f"undone: {', '.join(' '.join(entry) for entry in undone) or 'there was none'}"))
