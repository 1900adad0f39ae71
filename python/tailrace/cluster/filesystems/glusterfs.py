"""GlusterFS: a daemon and a brick on each store node, files spread over the bricks, FUSE mounts elsewhere; no metadata server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailrace.cluster.cluster import Cluster
from tailrace.cluster.inside.paths import FILE_SYSTEM, SCRATCH
from tailrace.cluster.values import STORE
from tailrace.cluster.waiting import wait_until

DATA = f"{SCRATCH}/glusterfs"
BRICK = f"{DATA}/brick/data"
VOLUME = "bench"
READY_S = 40.0


@dataclass(frozen=True)
class GlusterFS:
    name: str = "glusterfs"
    programs: Mapping[str, str] = field(
        default_factory=lambda: {"glusterd": "glusterfs-server", "gluster": "glusterfs-cli", "glusterfs": "glusterfs-client"}
    )
    has_servers: bool = True
    has_metadata_server: bool = False

    def prepare(self, cluster: Cluster) -> None:
        pass

    def start(self, cluster: Cluster, node: str) -> None:
        if cluster.host(node).role == STORE:
            # Each node's daemon needs these folders for itself.
            own = " ".join(f"{DATA}/{folder}" for folder in ("lib", "log", "brick"))
            binds = f"mountpoint -q /var/lib/glusterd || {{ mount --bind {DATA}/lib /var/lib/glusterd; "
            binds += f"mount --bind {DATA}/log /var/log/glusterfs; }}"
            cluster.shell(node, f"mkdir -p {own} /run/gluster; {binds}; exec glusterd -p /run/glusterd.pid -L WARNING")
            wait_until(lambda: self._no_daemon(cluster, node), READY_S)
            wait_until(lambda: self._no_brick(cluster, node), READY_S)
        else:
            # The first server that replies gives the places of the bricks.
            servers = " ".join(f"--volfile-server={server}" for server in cluster.with_role(STORE))
            mount = f"glusterfs -l /run/glusterfs.log {servers} --volfile-id={VOLUME} {FILE_SYSTEM}"
            cluster.shell(node, f"umount -l {FILE_SYSTEM} 2>/dev/null || :; {mount}")
            wait_until(lambda: self._not_mounted(cluster, node), READY_S)

    def join(self, cluster: Cluster) -> None:
        first, *others = cluster.with_role(STORE)
        for other in others:
            cluster.shell(first, f"gluster --mode=script peer probe {other}")
        for store in (first, *others):  # each server must be connected to all others before a volume can be made
            wait_until(lambda store=store: self._unconnected(cluster, store, len(others)), READY_S)  # type: ignore[misc]
        bricks = " ".join(f"{store}:{BRICK}" for store in (first, *others))
        cluster.shell(first, f"gluster --mode=script volume create {VOLUME} {bricks} force")
        cluster.shell(first, f"gluster --mode=script volume start {VOLUME}")

    def wait_until_writable(self, cluster: Cluster) -> None:
        node = cluster.compute_nodes[0]
        probe = f"{FILE_SYSTEM}/.tailrace-probe"
        script = f"echo 1 > {probe} && rm {probe}"
        wait_until(lambda: cluster.try_on(node, ["/bin/sh", "-c", script]).stderr, READY_S)

    def restart(self, cluster: Cluster, node: str) -> None:
        """Restarts the daemon and the brick, which does not end with its daemon."""
        stop = "pkill -x glusterd || :; pkill -x glusterfsd || :"
        cluster.shell(node, f"{stop}; while pgrep -x 'glusterd|glusterfsd' >/dev/null; do sleep 0.05; done")
        self.start(cluster, node)

    def _no_daemon(self, cluster: Cluster, node: str) -> str:
        done = cluster.try_on(node, ["gluster", "--mode=script", "pool", "list"])
        return "" if done.status == 0 else f"{node}: {done.stderr.strip() or done.stdout.strip() or 'glusterd does not reply'}"

    def _no_brick(self, cluster: Cluster, node: str) -> str:
        """Before the volume exists there is no brick. After a restart the daemon starts it, with three servers only when it has
        reached another one. So a start is forced here."""
        done = cluster.try_on(node, ["gluster", "--mode=script", "volume", "status", VOLUME, f"{node}:{BRICK}"])
        printed = f"{done.stdout.strip()} {done.stderr.strip()}"
        if re.search(r"\sY\s+\d+\s*$", done.stdout, re.MULTILINE) or "does not exist" in printed:
            return ""
        forced = cluster.try_on(node, ["gluster", "--mode=script", "volume", "start", VOLUME, "force"])
        return f"{node}: its brick does not run: {printed} {forced.stderr.strip()}"

    def _unconnected(self, cluster: Cluster, store: str, others: int) -> str:
        shown = cluster.on(store, "gluster", "--mode=script", "peer", "status")
        joined = shown.count("Peer in Cluster (Connected)")
        return "" if joined == others else f"{joined} of {others} servers have joined {store}"

    def _not_mounted(self, cluster: Cluster, node: str) -> str:
        done = cluster.try_on(node, ["mountpoint", "-q", FILE_SYSTEM])
        return "" if done.status == 0 else f"{node}: {cluster.shell(node, 'tail -3 /run/glusterfs.log')}"
