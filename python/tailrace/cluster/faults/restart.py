"""A server is stopped in order and started again."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.cluster import Cluster
from tailrace.cluster.filesystems import file_system_of
from tailrace.cluster.values import META, STORE, ClusterError


@dataclass(frozen=True)
class Restart:
    name: str = "restart"
    lasts: bool = False
    what: str = "the server (meta: the metadata server) is stopped and started; it works again when the command returns"

    def inject(self, cluster: Cluster, node: str) -> None:
        if cluster.host(node).role not in (META, STORE):
            servers = ", ".join(cluster.with_role(META, STORE)) or "none here"
            raise ClusterError(f"{node} is not a server; servers are {servers}")
        file_system_of(cluster.spec).restart(cluster, node)

    def undo(self, cluster: Cluster, node: str) -> None:
        """Nothing to undo: the server works again."""
