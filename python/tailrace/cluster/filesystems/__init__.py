"""The file systems that a cluster can have. To add one: a file here with a class as below, and its line in FILE_SYSTEMS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tailrace.cluster.cluster import Cluster
from tailrace.cluster.filesystems.glusterfs import GlusterFS
from tailrace.cluster.filesystems.moosefs import MooseFS
from tailrace.cluster.filesystems.none import NoFileSystem
from tailrace.cluster.values import ClusterError, ClusterSpec


class FileSystem(Protocol):
    """What is done once a cluster, and what is done on each node: again when its processes were killed."""

    @property
    def name(self) -> str: ...

    @property
    def programs(self) -> Mapping[str, str]:
        """Program and Debian's package."""

    @property
    def has_servers(self) -> bool: ...

    @property
    def has_metadata_server(self) -> bool: ...

    def prepare(self, cluster: Cluster) -> None:
        """Before anything is started: configuration in the shared folder."""

    def start(self, cluster: Cluster, node: str) -> None:
        """What runs on this node by its role. Returns when it runs, or raises ClusterError."""

    def join(self, cluster: Cluster) -> None:
        """After all servers have started: returns when the file system can be mounted."""

    def settle(self, cluster: Cluster) -> None:
        """After all nodes have mounted: returns when files can be written."""

    def restart(self, cluster: Cluster, node: str) -> None:
        """An orderly restart of a server."""


FILE_SYSTEMS: dict[str, FileSystem] = {made.name: made for made in (MooseFS(), GlusterFS(), NoFileSystem())}


def file_system_of(spec: ClusterSpec) -> FileSystem:
    if spec.file_system not in FILE_SYSTEMS:
        raise ClusterError(f"file system '{spec.file_system}': choose one of {', '.join(FILE_SYSTEMS)}")
    return FILE_SYSTEMS[spec.file_system]
