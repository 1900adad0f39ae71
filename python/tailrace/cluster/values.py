"""The values that describe a cluster. Plain data; nothing here touches a process."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from tailrace.cluster.inside.network import Link

__all__ = ["AUTO", "KERNEL", "MOST_NODES", "NAME", "NETWORKS", "USER", "ClusterError", "ClusterSpec", "Host", "Link", "NotPossible"]

AUTO, KERNEL, USER = "auto", "kernel", "user"
NETWORKS = (AUTO, KERNEL, USER)
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
MOST_NODES = 250
MOST_SERVERS = 100

LOGIN, META, STORE, COMPUTE = "login", "meta", "store", "compute"  # the roles of nodes


class ClusterError(RuntimeError):
    """The user can correct this: a name, a choice, a cluster that is not up, a server that does not reply. The text has the
    remedy."""


class NotPossible(ClusterError):
    """The machine lacks a right, a kernel feature or a program. The text names it and the remedy."""


@dataclass(frozen=True)
class Host:
    """A node. n1, n2, ... compute; login, meta and store1, store2, ... serve them."""

    name: str
    role: str
    address: str


@dataclass(frozen=True)
class ClusterSpec:
    name: str = "bench"
    nodes: int = 4
    servers: int = 3  # servers that store data, without the metadata server
    file_system: str = "moosefs"  # one of tailrace.cluster.filesystems
    slurm: bool = False
    slots: int = 4  # ranks for which a node has room
    disk_bytes: int = 4 << 30  # of each node
    images: str = ""  # the folder for disks that are ext4 images; "": disks are memory
    network: str = AUTO
    links: Link = field(default_factory=Link)  # of every node, until changed

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ClusterError(f"'{self.name}' cannot name a cluster: use at most 31 lower-case letters, digits and hyphens")
        _within("nodes", self.nodes, 1, MOST_NODES)
        _within("servers", self.servers, 1, MOST_SERVERS)
        _within("slots", self.slots, 1, 1024)
        _within("disk_bytes", self.disk_bytes, 64 << 20, 1 << 50)
        if self.network not in NETWORKS:
            raise ClusterError(f"network '{self.network}': choose one of {', '.join(NETWORKS)}")
        check_link(self.links)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> ClusterSpec:
        return ClusterSpec(**{**values, "links": Link(**values["links"])})


def _within(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ClusterError(f"{what} = {value}: give {least} to {most}")


def check_link(link: Link) -> None:
    if not 0 <= link.delay_us <= 10_000_000:
        raise ClusterError(f"a delay of {link.delay_us:g} us: give 0 to 10 000 000; 0 is no delay")
    if not (link.rate_mbit == 0 or 0.1 <= link.rate_mbit <= 1_000_000):
        raise ClusterError(f"a rate of {link.rate_mbit:g} Mbit/s: give 0.1 to 1 000 000, or 0 for no limit")
