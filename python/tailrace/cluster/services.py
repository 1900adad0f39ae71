"""Starts the services of a cluster, its file system and Slurm: all at first, those of one node again after a kill."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.cluster import slurm
from tailrace.cluster.active_faults import active
from tailrace.cluster.cluster import Cluster, each
from tailrace.cluster.filesystems import file_system_of
from tailrace.cluster.values import COMPUTE, LOGIN, META, STORE


def start_services(cluster: Cluster, on_progress: Callable[[str], None]) -> None:
    """Returns when all services work. `on_progress` gets the name of each service before it starts."""
    file_system = file_system_of(cluster.spec)
    if file_system.has_servers:
        on_progress(file_system.name)
        file_system.prepare(cluster)
        each(lambda node: file_system.start(cluster, node), cluster.with_role(META))
        each(lambda node: file_system.start(cluster, node), cluster.with_role(STORE))
        file_system.join(cluster)
        each(lambda node: file_system.start(cluster, node), cluster.with_role(LOGIN, COMPUTE))
        file_system.wait_until_writable(cluster)
    if cluster.spec.slurm:
        on_progress("slurm")
        slurm.prepare(cluster)
        slurm.start(cluster, LOGIN)
        each(lambda node: slurm.start(cluster, node), cluster.compute_nodes)
        slurm.wait_until_ready(cluster, cluster.compute_nodes)


def revive(cluster: Cluster, node: str) -> None:
    """Starts the services of a node again, after its processes were killed."""
    file_system_of(cluster.spec).start(cluster, node)
    if cluster.spec.slurm and cluster.host(node).role in (LOGIN, COMPUTE):
        slurm.start(cluster, node)
        # Other nodes with faults cannot become ready; they are waited for when their own fault is undone.
        faulty = ({where for _, where in active(cluster)} | set(cluster.ended())) - {node}
        if LOGIN not in faulty:
            slurm.wait_until_ready(cluster, [name for name in cluster.compute_nodes if name not in faulty])
