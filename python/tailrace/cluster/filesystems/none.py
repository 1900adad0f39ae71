"""No distributed file system: nodes have only their scratch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailrace.cluster.cluster import Cluster
from tailrace.cluster.values import ClusterError


@dataclass(frozen=True)
class NoFileSystem:
    name: str = "none"
    programs: Mapping[str, str] = field(default_factory=dict)
    has_servers: bool = False
    has_metadata_server: bool = False

    def prepare(self, cluster: Cluster) -> None:
        pass

    def start(self, cluster: Cluster, node: str) -> None:
        pass

    def join(self, cluster: Cluster) -> None:
        pass

    def wait_until_writable(self, cluster: Cluster) -> None:
        pass

    def restart(self, cluster: Cluster, node: str) -> None:
        raise ClusterError(
            f"cluster {cluster.name} has no file system, so {node} has no server: choose one with "
            "`tailrace cluster up --file-system`"
        )
