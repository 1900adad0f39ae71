"""The network does not reach the node."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.cluster import Cluster


@dataclass(frozen=True)
class Cut:
    name: str = "cut"
    lasts: bool = True
    what: str = "the node's link carries nothing; programs can still be started on it"

    def inject(self, cluster: Cluster, node: str) -> None:
        cluster.set_link(node, cut=True)

    def undo(self, cluster: Cluster, node: str) -> None:
        cluster.set_link(node, cut=False)
