"""GlusterFS: a daemon and a brick on each store node, files spread over the bricks, FUSE mounts elsewhere; no metadata server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailrace.cluster.inside.paths import FILE_SYSTEM, SCRATCH
from tailrace.cluster.patience import wait_until
from tailrace.cluster.values import STORE

if TYPE_CHECKING:
    from tailrace.cluster.cluster import Cluster

DATA = f"{SCRATCH}/glusterfs"
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
            # Each daemon believes that these folders are its own.
            own = " ".join(f"{DATA}/{folder}" for folder in ("lib", "log", "brick"))
            binds = f"mountpoint -q /var/lib/glusterd || {{ mount --bind {DATA}/lib /var/lib/glusterd; "
            binds += f"mount --bind {DATA}/log /var/log/glusterfs; }}"
            cluster.shell(node, f"mkdir -p {own} /run/gluster; {binds}; exec glusterd -p /run/glusterd.pid -L WARNING")
            wait_until(lambda: self._refused(cluster, node), READY_S)
        else:
            server = cluster.with_role(STORE)[0]
            mount = f"glusterfs -l /run/glusterfs.log --volfile-server={server} --volfile-id={VOLUME} {FILE_SYSTEM}"
            cluster.shell(node, f"umount -l {FILE_SYSTEM} 2>/dev/null || :; {mount}")
            wait_until(lambda: self._not_mounted(cluster, node), READY_S)

    def join(self, cluster: Cluster) -> None:
        first, *others = cluster.with_role(STORE)
        for other in others:
            cluster.shell(first, f"gluster --mode=script peer probe {other}")
        wait_until(lambda: self._apart(cluster, first, len(others)), READY_S)
        bricks = " ".join(f"{store}:{DATA}/brick/data" for store in (first, *others))
        cluster.shell(first, f"gluster --mode=script volume create {VOLUME} {bricks} force")
        cluster.shell(first, f"gluster --mode=script volume start {VOLUME}")

    def settle(self, cluster: Cluster) -> None:
        node = cluster.compute_nodes[0]
        probe = f"{FILE_SYSTEM}/.tailrace-probe"
        script = f"echo 1 > {probe} && rm {probe}"
        wait_until(lambda: cluster.try_on(node, ["/bin/sh", "-c", script]).stderr, READY_S)

    def restart(self, cluster: Cluster, node: str) -> None:
        cluster.shell(node, "kill $(cat /run/glusterd.pid); while pgrep -x glusterd >/dev/null; do sleep 0.05; done")
        self.start(cluster, node)

    def _refused(self, cluster: Cluster, node: str) -> str:
        done = cluster.try_on(node, ["gluster", "--mode=script", "pool", "list"])
        return "" if done.status == 0 else f"{node}: {done.stderr.strip() or done.stdout.strip() or 'glusterd does not answer'}"

    def _apart(self, cluster: Cluster, first: str, others: int) -> str:
        shown = cluster.on(first, "gluster", "--mode=script", "peer", "status")
        joined = shown.count("Peer in Cluster (Connected)")
        return "" if joined == others else f"{joined} of {others} servers have joined {first}"

    def _not_mounted(self, cluster: Cluster, node: str) -> str:
        done = cluster.try_on(node, ["mountpoint", "-q", FILE_SYSTEM])
        return "" if done.status == 0 else f"{node}: {cluster.shell(node, 'tail -3 /run/glusterfs.log')}"
