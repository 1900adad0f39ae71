"""All processes of a node are stopped: their connections stay open, and no reply comes."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.cluster import Cluster


@dataclass(frozen=True)
class Pause:
    name: str = "pause"
    lasts: bool = True
    what: str = "every process of the node stops and keeps its connections; undo continues them"

    def inject(self, cluster: Cluster, node: str) -> None:
        cluster.shell(node, "kill -s STOP -- -1 2>/dev/null || :")

    def undo(self, cluster: Cluster, node: str) -> None:
        cluster.shell(node, "kill -s CONT -- -1 2>/dev/null || :")
