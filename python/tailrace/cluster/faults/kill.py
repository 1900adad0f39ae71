"""All processes of a node are killed at once, by SIGKILL."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster import loads
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.services import revive


@dataclass(frozen=True)
class Kill:
    name: str = "kill"
    lasts: bool = True
    what: str = "every process of the node is killed, a server's services too; undo starts its services again"

    def inject(self, cluster: Cluster, node: str) -> None:
        # In the node's process namespace -1 means all but its first process and the shell. Ending takes a moment, so this repeats.
        cluster.shell(node, "while kill -s KILL -- -1 2>/dev/null; do sleep 0.02; done")
        loads.forget(cluster, node)

    def undo(self, cluster: Cluster, node: str) -> None:
        revive(cluster, node)
