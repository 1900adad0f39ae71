"""A node whose processes are killed, all at once and without a word to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.cluster.cluster import Cluster


@dataclass(frozen=True)
class Kill:
    name: str = "kill"
    lasts: bool = True
    what: str = "every process of the node is killed: of a server, what serves; undo starts its services again"

    def inject(self, cluster: Cluster, node: str) -> None:
        cluster.shell(
            node, "kill -KILL -1 2>/dev/null || :"
        )  # within the node's process namespace: all but its first and the shell

    def undo(self, cluster: Cluster, node: str) -> None:
        from tailrace.cluster.services import revive

        revive(cluster, node)
