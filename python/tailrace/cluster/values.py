"""The values that a cluster is made of. Plain data; nothing here touches a process."""

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

LOGIN, META, STORE, COMPUTE = "login", "meta", "store", "compute"  # what a node is for


class ClusterError(RuntimeError):
    """What the user can mend: a name, a choice, a cluster that is not up, a server that does not answer."""


class NotPossible(ClusterError):
    """The machine lacks a right, a feature of its kernel or a program; the text names it and the remedy."""


@dataclass(frozen=True)
class Host:
    """A node: compute nodes are n1, n2, ...; login, meta and store1, store2, ... serve them."""

    name: str
    role: str
    address: str


@dataclass(frozen=True)
class ClusterSpec:
    name: str = "bench"
    nodes: int = 4
    servers: int = 3  # that store data; the metadata server is one more
    file_system: str = "moosefs"  # one of tailrace.cluster.filesystems
    slurm: bool = False
    slots: int = 4  # ranks that a node takes
    disk_bytes: int = 4 << 30  # of each node
    images: str = ""  # the folder where disks are images of ext4; "": disks are memory
    network: str = AUTO
    links: Link = field(default_factory=Link)  # of every node, at first

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ClusterError(f"'{self.name}' cannot name a cluster: lower-case letters, digits and hyphens, at most 31")
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
        raise ClusterError(f"{what} = {value}: must be {least} to {most}")


def check_link(link: Link) -> None:
    if not 0 <= link.delay_us <= 10_000_000:
        raise ClusterError(f"a delay of {link.delay_us:g} us: must be 0 to 10 000 000, 0 for none")
    if not (link.rate_mbit == 0 or 0.1 <= link.rate_mbit <= 1_000_000):
        raise ClusterError(f"a rate of {link.rate_mbit:g} Mbit/s: must be 0.1 to 1 000 000, or 0 for as fast as it goes")
