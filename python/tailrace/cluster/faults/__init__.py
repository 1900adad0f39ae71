"""Faults on purpose, and how each is undone. To add a fault: a file here with a class as below, and its line in FAULTS."""

from __future__ import annotations

from typing import Protocol

from tailrace.cluster.active_faults import active, forget, note
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.faults.cut import Cut
from tailrace.cluster.faults.fill import Fill
from tailrace.cluster.faults.kill import Kill
from tailrace.cluster.faults.pause import Pause
from tailrace.cluster.faults.restart import Restart
from tailrace.cluster.values import COMPUTE, LOGIN, META, STORE, ClusterError

__all__ = ["FAULTS", "Fault", "active", "fault_of", "inject", "undo"]

STOPS_PROCESSES = ("pause", "kill")  # on such a node only its link can have another fault
START_ORDER = (META, STORE, LOGIN, COMPUTE)  # each role needs those before it


class Fault(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def lasts(self) -> bool:
        """Whether the fault holds until it is undone."""

    @property
    def what(self) -> str:
        """One line for help texts."""

    def inject(self, cluster: Cluster, node: str) -> None: ...

    def undo(self, cluster: Cluster, node: str) -> None: ...


FAULTS: dict[str, Fault] = {fault.name: fault for fault in (Cut(), Kill(), Pause(), Restart(), Fill())}


def inject(cluster: Cluster, fault: str, node: str) -> None:
    cluster.host(node)
    if node in cluster.ended():
        raise ClusterError(
            f"{node} has ended: run `tailrace cluster down -c {cluster.name}`, then `tailrace cluster up -c {cluster.name}`"
        )
    known = active(cluster)
    if (fault, node) in known:
        raise ClusterError(
            f"{node}: has the fault {fault} already; end it with `tailrace cluster undo {fault} {node} -c {cluster.name}`"
        )
    if held := [name for name in STOPS_PROCESSES if fault != "cut" and (name, node) in known]:
        raise ClusterError(f"{node}: has the fault {held[0]}; first run `tailrace cluster undo {held[0]} {node} -c {cluster.name}`")
    # Noted before it begins, so that a fault that fails half way can be undone.
    if fault_of(fault).lasts:
        note(cluster, fault, node)
    fault_of(fault).inject(cluster, node)


def undo(cluster: Cluster, fault: str | None = None, node: str | None = None) -> list[tuple[str, str]]:
    """Undoes the faults that match, servers before their clients, otherwise the newest first. Returns them."""
    known = active(cluster)
    chosen = [(f, n) for f, n in reversed(known) if fault in (None, f) and node in (None, n)]
    if not chosen and (fault or node):
        held = ", ".join(f"{f} {n}" for f, n in known) or "none"
        raise ClusterError(f"nothing to undo for {' '.join(filter(None, (fault, node)))}; faults that hold: {held}")
    ended = cluster.ended()
    for name, where in sorted(chosen, key=lambda entry: _turn(cluster, *entry)):
        if where not in ended:
            fault_of(name).undo(cluster, where)
        forget(cluster, name, where)
    return chosen


def _turn(cluster: Cluster, fault: str, node: str) -> int:
    """Killed services start last, and in START_ORDER: a service starts when those that it needs are reachable."""
    return 1 + START_ORDER.index(cluster.host(node).role) if fault == "kill" else 0


def fault_of(name: str) -> Fault:
    if name not in FAULTS:
        raise ClusterError(f"fault '{name}': choose one of {', '.join(FAULTS)}")
    return FAULTS[name]
