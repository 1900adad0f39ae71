"""The faults that hold on a cluster now. The cluster keeps the list, so that any command can read it."""

from __future__ import annotations

from tailrace.cluster.cluster import Cluster

NOTE = "faults"  # the kind of the cluster's notes; each key is "FAULT NODE"


def active(cluster: Cluster) -> list[tuple[str, str]]:
    """Pairs of fault and node, the oldest first."""
    return [(fault, node) for fault, node in map(str.split, cluster.noted(NOTE))]


def note(cluster: Cluster, fault: str, node: str) -> None:
    cluster.note(NOTE, f"{fault} {node}", True)


def forget(cluster: Cluster, fault: str, node: str) -> None:
    cluster.note(NOTE, f"{fault} {node}", None)
