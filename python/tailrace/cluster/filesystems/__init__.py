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
    """`start` and `restart` are for one node; the others are for the whole cluster, once."""

    @property
    def name(self) -> str: ...

    @property
    def programs(self) -> Mapping[str, str]:
        """Programs and their Debian packages."""

    @property
    def has_servers(self) -> bool: ...

    @property
    def has_metadata_server(self) -> bool: ...

    def prepare(self, cluster: Cluster) -> None:
        """Before all nodes: writes configuration into the shared folder."""

    def start(self, cluster: Cluster, node: str) -> None:
        """Starts the services or the mount of this node, by its role; again after its processes were killed. Returns when they run,
        or raises ClusterError."""

    def join(self, cluster: Cluster) -> None:
        """After all servers: returns when the file system can be mounted."""

    def wait_until_writable(self, cluster: Cluster) -> None:
        """After all mounts: returns when files can be written."""

    def restart(self, cluster: Cluster, node: str) -> None:
        """Stops a server in order and starts it again."""


FILE_SYSTEMS: dict[str, FileSystem] = {made.name: made for made in (MooseFS(), GlusterFS(), NoFileSystem())}


def file_system_of(spec: ClusterSpec) -> FileSystem:
    if spec.file_system not in FILE_SYSTEMS:
        raise ClusterError(f"file system '{spec.file_system}': choose one of {', '.join(FILE_SYSTEMS)}")
    return FILE_SYSTEMS[spec.file_system]
