"""tailrace cluster load: background load."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster, TheNodes, nodes_of
from tailrace.cluster import loads
from tailrace.cluster.cluster import Cluster


class Action(StrEnum):
    START = "start"
    SET = "set"
    STOP = "stop"


def command(
    action: Annotated[Action, typer.Argument(help="Start a load, set its level, or stop it.")],
    nodes: TheNodes,
    program: Annotated[str, typer.Option("--with", help=f"Program that makes the load: {' or '.join(loads.LOADS)}.")] = "fio",
    target: Annotated[str, typer.Option("--on", help=f"{', '.join(loads.TARGETS)}: the node's disk or the file system.")] = "pfs",
    jobs: Annotated[int | None, typer.Option("--jobs", help="Processes on each node; default 1.")] = None,
    mib_per_s: Annotated[float | None, typer.Option("--mib-per-s", help="MiB/s of each node; 0, the default: no limit.")] = None,
    cluster: TheCluster = DEFAULT,
    as_json: output.AsJson = False,
) -> None:
    """Starts, changes or stops background load of nodes on their disks or the file system.

    Examples: [bold]tailrace cluster load start n3,n4 --mib-per-s 50[/] · [bold]tailrace cluster load set n3 --mib-per-s 10[/] ·
    [bold]tailrace cluster load start n2 --with bonnie --on scratch[/] · [bold]tailrace cluster load stop nodes[/]
    """
    found = Cluster(cluster)
    changes: dict[str, Any] = {"jobs": jobs, "mib_per_s": mib_per_s}
    changes = {key: value for key, value in changes.items() if value is not None}
    names = nodes_of(found, nodes)
    if action is Action.STOP and nodes in (["all"], ["nodes"]):
        names = [name for name in names if name in loads.running(found)]
    for name in names:
        if action is Action.START:
            loads.start(found, program, name, target, loads.Level(**changes))
        elif action is Action.SET:
            loads.steer(found, name, **changes)
        else:
            loads.stop(found, name)
    if as_json:
        output.print_json({"loads": dict(loads.running(found))})
    else:
        output.console().print(output.escape(f"{action.value}: {', '.join(names) or 'no load runs'}"))
