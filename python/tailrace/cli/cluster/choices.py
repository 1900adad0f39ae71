"""Options and arguments that several commands of the group have: the cluster, its nodes, numbers of bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from tailrace.cluster.cluster import Cluster, names_up
from tailrace.cluster.faults import FAULTS
from tailrace.cluster.values import ClusterError

DEFAULT = "bench"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def complete_cluster(incomplete: str) -> list[str]:
    """For completion in the shell: the names of the clusters that are up."""
    return [name for name in names_up() if name.startswith(incomplete)]


def complete_node(incomplete: str) -> list[str]:
    """For completion in the shell: the nodes of the only cluster that is up; none if several are up."""
    names = names_up()
    hosts = Cluster(names[0]).hosts if len(names) == 1 else ()
    return [host.name for host in hosts if host.name.startswith(incomplete)]


def complete_fault(incomplete: str) -> list[str]:
    return [name for name in FAULTS if name.startswith(incomplete)]


TheCluster = Annotated[
    str,
    typer.Option("--cluster", "-c", metavar="NAME", help="The cluster's name.", autocompletion=complete_cluster),
]
TheNode = Annotated[str, typer.Argument(metavar="NODE", help="The node.", autocompletion=complete_node)]
TheNodes = Annotated[
    list[str],
    typer.Argument(
        metavar="NODE...", help="Names of nodes; or `all`, `nodes` (compute nodes), `servers`.", autocompletion=complete_node
    ),
]


def nodes_of(cluster: Cluster, words: Sequence[str]) -> list[str]:
    """Names of nodes. `words` may also be `all`, `nodes`, `servers`."""
    groups = {
        "all": [host.name for host in cluster.hosts],
        "nodes": list(cluster.compute_nodes),
        "servers": list(cluster.with_role("meta", "store")),
    }
    found: list[str] = []
    for word in (part for given in words for part in given.split(",") if part):
        for name in groups.get(word, [word]):
            cluster.host(name)
            if name not in found:
                found.append(name)
    if not found:
        raise ClusterError(f"no node is selected by {', '.join(words) or 'an empty list'}; choose among {', '.join(groups['all'])}")
    return found


def parse_bytes(text: str) -> int:
    """Parses a number of bytes with a binary unit: 20M, 4GiB, 65536."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise typer.BadParameter(f"'{text}' is not a number of bytes; write it as 512M or 4G")
    return int(float(match.group(1)) * UNITS[match.group(2).upper()])
