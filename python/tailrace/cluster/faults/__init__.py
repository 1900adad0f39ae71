"""What can go wrong on purpose, and back. To add a fault: a file here with a class as below, and its line in FAULTS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tailrace.cluster.faults.cut import Cut
from tailrace.cluster.faults.fill import Fill
from tailrace.cluster.faults.kill import Kill
from tailrace.cluster.faults.pause import Pause
from tailrace.cluster.faults.restart import Restart
from tailrace.cluster.values import ClusterError

if TYPE_CHECKING:
    from tailrace.cluster.cluster import Cluster

NOTE = "faults"


class Fault(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def lasts(self) -> bool:
        """Whether it holds until it is undone."""

    @property
    def what(self) -> str: ...

    def inject(self, cluster: Cluster, node: str) -> None: ...

    def undo(self, cluster: Cluster, node: str) -> None: ...


FAULTS: dict[str, Fault] = {fault.name: fault for fault in (Cut(), Kill(), Pause(), Restart(), Fill())}


def active(cluster: Cluster) -> list[tuple[str, str]]:
    """Faults and nodes, the oldest first."""
    return [(fault, node) for fault, node in cluster.noted(NOTE, [])]


def inject(cluster: Cluster, fault: str, node: str) -> None:
    cluster.host(node)
    known = active(cluster)
    if (fault, node) in known:
        raise ClusterError(f"{node}: there is a {fault} already; `tailrace cluster undo {fault} {node}` ends it")
    if fault != "cut" and ("pause", node) in known:
        raise ClusterError(f"{node} is paused: undo that first")
    # Noted first: what is half done can be undone.
    if fault_of(fault).lasts:
        cluster.note(NOTE, [*known, (fault, node)])
    fault_of(fault).inject(cluster, node)


def undo(cluster: Cluster, fault: str | None = None, node: str | None = None) -> list[tuple[str, str]]:
    """Those that fit, the newest first; what was undone."""
    known = active(cluster)
    chosen = [(f, n) for f, n in reversed(known) if fault in (None, f) and node in (None, n)]
    if not chosen and (fault or node):
        there = ", ".join(f"{f} {n}" for f, n in known) or "none"
        raise ClusterError(f"nothing to undo for {' '.join(filter(None, (fault, node)))}; faults that hold: {there}")
    for entry in chosen:
        fault_of(entry[0]).undo(cluster, entry[1])
        known.remove(entry)
        cluster.note(NOTE, known)
    return chosen


def fault_of(name: str) -> Fault:
    if name not in FAULTS:
        raise ClusterError(f"fault '{name}': choose one of {', '.join(FAULTS)}")
    return FAULTS[name]
