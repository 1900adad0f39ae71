"""Background load on a node's scratch or the file system. To add one: a file here with a class as below, and its line in LOADS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from tailrace.cluster.cluster import Cluster
from tailrace.cluster.inside.paths import FILE_SYSTEM, SCRATCH
from tailrace.cluster.loads.bonnie import Bonnie
from tailrace.cluster.loads.fio import Fio
from tailrace.cluster.loads.level import Level
from tailrace.cluster.values import META, STORE, ClusterError, NotPossible

__all__ = ["LOADS", "TARGETS", "Level", "Load", "forget", "running", "start", "steer", "stop"]

TARGETS = {"scratch": SCRATCH, "pfs": FILE_SYSTEM}
PID = "/run/tailrace-load.pid"
LOG = "/run/tailrace-load.log"
NOTE = "loads"


class Load(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str: ...

    @property
    def package(self) -> str: ...

    def script(self, folder: str, level: Any) -> str:
        """A shell command that writes in the folder until it is killed. Raises ClusterError for a level that the program cannot
        have."""


LOADS: dict[str, Load] = {load.name: load for load in (Fio(), Bonnie())}


def start(cluster: Cluster, name: str, node: str, target: str, level: Level) -> None:
    """Starts a load. A node has one load at most."""
    if node in running(cluster):
        command = "`tailrace cluster load"
        change, end = f"{command} set {node} -c {cluster.name}`", f"{command} stop {node} -c {cluster.name}`"
        raise ClusterError(f"{node}: has a load already; change it with {change}, end it with {end}")
    if name not in LOADS:
        raise ClusterError(f"load '{name}': choose one of {', '.join(LOADS)}")
    if target not in TARGETS:
        raise ClusterError(f"target '{target}': choose one of {', '.join(TARGETS)}")
    if target == "pfs" and cluster.spec.file_system == "none":
        raise ClusterError(f"cluster {cluster.name} has no file system: choose --on scratch")
    if target == "pfs" and cluster.host(node).role in (META, STORE):
        raise ClusterError(f"{node}: servers do not mount the file system: choose --on scratch, or another node")
    load = LOADS[name]
    if cluster.try_on(node, ["which", load.program]).status != 0:
        raise NotPossible(f"{load.program}: not on the PATH: install Debian's package {load.package}")
    folder = f"{TARGETS[target]}/.tailrace-load-{node}"
    # The pause keeps a command that fails, as on a full disk, from taking a core.
    script = f"while :; do {load.script(folder, level)}; sleep 0.1; done"
    begin = f"rm -rf {folder}; mkdir -p {folder}; cd {folder}"
    cluster.shell(node, f"{begin}; setsid /bin/sh -c '{script}' </dev/null >{LOG} 2>&1 & echo $! > {PID}")
    cluster.note(NOTE, node, {"load": name, "target": target, **asdict(level)})


def stop(cluster: Cluster, node: str) -> None:
    entry = _entry(cluster, node)
    folder = f"{TARGETS[entry['target']]}/.tailrace-load-{node}"
    cluster.shell(node, f"while kill -s KILL -- -$(cat {PID}) 2>/dev/null; do sleep 0.02; done; rm -f {PID}; cd /; rm -rf {folder}")
    cluster.note(NOTE, node, None)


def forget(cluster: Cluster, node: str) -> None:
    """Removes the note of a load whose processes were killed with all others of the node."""
    if node in running(cluster):
        cluster.shell(node, f"rm -f {PID}")
        cluster.note(NOTE, node, None)


def steer(cluster: Cluster, node: str, **changes: Any) -> Level:
    """Changes a load's level. The load restarts, because neither program can change its rate while it runs."""
    entry = _entry(cluster, node)
    level = Level(**{key: changes.get(key, entry[key]) for key in ("jobs", "mib_per_s")})
    LOADS[entry["load"]].script("", level)  # raises ClusterError before the load is stopped
    stop(cluster, node)
    start(cluster, entry["load"], node, entry["target"], level)
    return level


def running(cluster: Cluster) -> Mapping[str, dict[str, Any]]:
    """The loads by node."""
    return cluster.noted(NOTE)


def _entry(cluster: Cluster, node: str) -> dict[str, Any]:
    loads = running(cluster)
    if node not in loads:
        raise ClusterError(f"{node}: has no load; nodes with a load: {', '.join(loads) or 'none'}")
    return loads[node]
