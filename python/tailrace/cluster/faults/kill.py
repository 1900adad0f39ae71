"""A node whose processes are killed, all at once and without a word to them."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster import loads
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.services import revive


@dataclass(frozen=True)
class Kill:
    name: str = "kill"
    lasts: bool = True
    what: str = "every process of the node is killed: of a server, what serves; undo starts its services again"

    def inject(self, cluster: Cluster, node: str) -> None:
        # Within the node's process namespace: all but its first and the shell. Until none is left: the dying take a moment.
        cluster.shell(node, "while kill -s KILL -- -1 2>/dev/null; do sleep 0.02; done")
        loads.forget(cluster, node)

    def undo(self, cluster: Cluster, node: str) -> None:
        revive(cluster, node)
