"""How many ranks each node takes."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.cluster.values import ClusterError

PACKED, SPREAD = "packed", "spread"


def place(ranks: int, nodes: Sequence[str], slots: int, how: str) -> list[tuple[str, int]]:
    """Packed: node after node is filled, so as few as can be. Spread: all nodes, as equally as can be. Consecutive ranks are on the
    same node either way. ClusterError where they do not fit."""
    if ranks < 1:
        raise ClusterError(f"{ranks} ranks: at least 1")
    if not nodes:
        raise ClusterError("no nodes are named")
    if len(set(nodes)) != len(nodes):
        raise ClusterError(f"nodes {','.join(nodes)}: one is named twice")
    if ranks > len(nodes) * slots:
        places = f"{len(nodes)} nodes with {slots} slots each take {len(nodes) * slots}"
        raise ClusterError(f"{ranks} ranks: {places}; choose more nodes, or --slots for this run")
    if how == PACKED:
        counts = [min(slots, ranks - first) for first in range(0, ranks, slots)]
    elif how == SPREAD:
        least, more = divmod(ranks, len(nodes))
        counts = [least + (position < more) for position in range(len(nodes))]
    else:
        raise ClusterError(f"'{how}': choose {PACKED} or {SPREAD}")
    return [(node, count) for node, count in zip(nodes, counts, strict=False) if count]
