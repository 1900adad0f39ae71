"""How many ranks each node takes."""

from __future__ import annotations

from collections.abc import Sequence

PACKED, SPREAD = "packed", "spread"
Placed = Sequence[tuple[str, int]]  # nodes and their numbers of ranks


class PlacementError(ValueError):
    """The ranks do not fit on the nodes; the text says what to change."""


def place(ranks: int, nodes: Sequence[str], slots: int, policy: str) -> list[tuple[str, int]]:
    """Packed fills node after node, so it takes the fewest nodes. Spread takes all nodes, as equally as possible. Consecutive ranks
    share a node under both."""
    if ranks < 1:
        raise PlacementError(f"{ranks} ranks: give at least 1")
    if not nodes:
        raise PlacementError("no nodes are named: give at least one, as --nodes n1,n2")
    if len(set(nodes)) != len(nodes):
        raise PlacementError(f"nodes {','.join(nodes)}: one is named twice; name each once")
    if ranks > len(nodes) * slots:
        room = f"{len(nodes)} nodes with {slots} slots each take {len(nodes) * slots}"
        raise PlacementError(f"{ranks} ranks: {room}; choose more nodes, or --slots for this run")
    if policy == PACKED:
        counts = [min(slots, ranks - first) for first in range(0, ranks, slots)]
    elif policy == SPREAD:
        fewest, rest = divmod(ranks, len(nodes))
        counts = [fewest + (position < rest) for position in range(len(nodes))]
    else:
        raise PlacementError(f"placement '{policy}': choose {PACKED} or {SPREAD}")
    return [(node, count) for node, count in zip(nodes, counts, strict=False) if count]
