"""tailrace cluster fault: faults on purpose."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster, TheNodes, complete_fault, nodes_of
from tailrace.cluster import faults
from tailrace.cluster.cluster import Cluster

FAULTS_TEXT = "; ".join(f"{fault.name}: {fault.what}" for fault in faults.FAULTS.values())


def command(
    fault: Annotated[str, typer.Argument(help=f"{FAULTS_TEXT}.", autocompletion=complete_fault)],
    nodes: TheNodes,
    cluster: TheCluster = DEFAULT,
    as_json: output.AsJson = False,
) -> None:
    """Makes a fault on nodes; `tailrace cluster undo` ends it.

    Examples: [bold]tailrace cluster fault cut n2[/] · [bold]tailrace cluster fault kill store1[/] ·
    [bold]tailrace cluster fault pause meta[/] · [bold]tailrace cluster fault restart meta[/] ·
    [bold]tailrace cluster fault fill n1[/]
    """
    found = Cluster(cluster)
    names = nodes_of(found, nodes)
    for name in names:
        faults.inject(found, fault, name)
    if as_json:
        output.print_json({"done": [[fault, name] for name in names], "faults": faults.active(found)})
        return
    again = f"; `tailrace cluster undo {fault} NODE -c {cluster}` ends it" if faults.fault_of(fault).lasts else ""
    output.console().print(output.escape(f"{fault}: {', '.join(names)}{again}"))
