"""tailrace cluster disk: slow disks."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster, TheNodes, nodes_of, parse_bytes
from tailrace.cluster.cluster import Cluster


def command(
    nodes: TheNodes,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", metavar="BYTES", help="Limit in bytes per second, for reading and for writing each, such as 20M; 0: no limit."
        ),
    ],
    cluster: TheCluster = DEFAULT,
    as_json: output.AsJson = False,
) -> None:
    """Limits the speed of nodes' disks, by the kernel's control groups, or removes the limit.

    The disks must be images: make the cluster with `tailrace cluster up --images FOLDER`.

    Examples: [bold]tailrace cluster disk store1 --rate 20M[/] · [bold]tailrace cluster disk servers --rate 0[/]
    """
    found = Cluster(cluster)
    names, bytes_per_s = nodes_of(found, nodes), parse_bytes(rate)
    for name in names:
        found.limit_disk(name, bytes_per_s)
    if as_json:
        output.print_json({"disks": dict.fromkeys(names, bytes_per_s)})
        return
    text = f"{output.bytes_text(bytes_per_s)}/s" if bytes_per_s else "no limit"
    output.console().print(output.escape(f"{', '.join(names)}: {text}"))
