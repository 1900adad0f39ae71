"""tailrace cluster link: delay and rate of nodes' links."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster, TheNodes, nodes_of
from tailrace.cluster.cluster import Cluster


def command(
    nodes: TheNodes,
    delay_us: Annotated[
        float | None, typer.Option("--delay-us", help="Delay of the link in each direction, in microseconds; 0: none.")
    ] = None,
    rate_mbit: Annotated[
        float | None, typer.Option("--rate-mbit", help="Rate of the link in each direction, in Mbit/s; 0: no limit.")
    ] = None,
    cluster: TheCluster = DEFAULT,
    as_json: output.AsJson = False,
) -> None:
    """Changes the links of nodes while the cluster runs; without options, shows them.

    Each node has one link to the switch. A message passes two links: their delays add up, and the slower rate counts.

    Examples: [bold]tailrace cluster link n1 --delay-us 500[/] · [bold]tailrace cluster link servers --rate-mbit 1000[/] ·
    [bold]tailrace cluster link all --delay-us 0 --rate-mbit 0[/]
    """
    found = Cluster(cluster)
    changes: dict[str, Any] = {"delay_us": delay_us, "rate_mbit": rate_mbit}
    changes = {key: value for key, value in changes.items() if value is not None}
    names = nodes_of(found, nodes)
    links = {name: found.set_link(name, **changes) for name in names} if changes else found.links()
    if as_json:
        output.print_json({"links": {name: dataclasses.asdict(links[name]) for name in names}})
        return
    for name in names:
        link = links[name]
        rate = f"{link.rate_mbit:g} Mbit/s" if link.rate_mbit else "no limit"
        output.console().print(f"{name}: {link.delay_us:g} us, {rate}{', cut' if link.cut else ''}")
