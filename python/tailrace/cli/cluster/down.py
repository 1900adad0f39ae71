"""tailrace cluster down: ends a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster
from tailrace.cluster.cluster import Cluster, names_up, sweep_ended


def command(
    cluster: TheCluster = DEFAULT,
    every: Annotated[bool, typer.Option("--all", help="End all clusters that are up.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Ends a cluster and everything in it. The data on its disks and its file system is lost.

    Examples: [bold]tailrace cluster down[/] · [bold]tailrace cluster down -c drill[/] · [bold]tailrace cluster down --all[/]
    """
    names = []
    for name in names_up() if every else [cluster]:
        found = Cluster(name)
        found.end()
        names.append(found.name)
    sweep_ended()
    if as_json:
        output.print_json({"ended": names})
    else:
        output.console().print(output.escape(f"ended: {', '.join(names) or 'none was up'}"))
