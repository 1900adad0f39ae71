"""What runs on the nodes of a cluster: its file system and Slurm, at first and again after a kill."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.cluster import slurm
from tailrace.cluster.active_faults import active
from tailrace.cluster.cluster import Cluster, each
from tailrace.cluster.filesystems import file_system_of
from tailrace.cluster.values import COMPUTE, LOGIN, META, STORE


def start_services(cluster: Cluster, tell: Callable[[str], None]) -> None:
    """Returns when all of them serve."""
    file_system = file_system_of(cluster.spec)
    if file_system.has_servers:
        tell(file_system.name)
        file_system.prepare(cluster)
        each(lambda node: file_system.start(cluster, node), cluster.with_role(META))
        each(lambda node: file_system.start(cluster, node), cluster.with_role(STORE))
        file_system.join(cluster)
        each(lambda node: file_system.start(cluster, node), cluster.with_role(LOGIN, COMPUTE))
        file_system.settle(cluster)
    if cluster.spec.slurm:
        tell("slurm")
        slurm.prepare(cluster)
        slurm.start(cluster, LOGIN)
        each(lambda node: slurm.start(cluster, node), cluster.compute_nodes)
        slurm.settle(cluster, cluster.compute_nodes)


def revive(cluster: Cluster, node: str) -> None:
    """Starts once more what runs on a node whose processes were killed."""
    file_system_of(cluster.spec).start(cluster, node)
    if cluster.spec.slurm and cluster.host(node).role in (LOGIN, COMPUTE):
        slurm.start(cluster, node)
        faulty = ({where for _, where in active(cluster)} | set(cluster.ended())) - {node}
        if LOGIN not in faulty:
            slurm.settle(cluster, [name for name in cluster.compute_nodes if name not in faulty])
