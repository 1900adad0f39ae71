"""A disk without room: a server's, or the scratch of a node."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.active_faults import active
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.filesystems import file_system_of
from tailrace.cluster.inside.paths import SCRATCH
from tailrace.cluster.values import META, STORE, ClusterError

FILLER = f"{SCRATCH}/.tailrace-fill"
MORE_MIB = "8 64 512"  # what is left and then written: the least that works


@dataclass(frozen=True)
class Fill:
    name: str = "fill"
    lasts: bool = True
    what: str = "the node's disk has no free byte left; undo gives the room back, and restarts the server"

    def inject(self, cluster: Cluster, node: str) -> None:
        if cluster.spec.images:
            # Reserved, not written: the image stays as small as it is.
            free = f"$(stat -f -c '%a * %S' {SCRATCH})"
            grow = f"while :; do n=$(({free})); [ $n -gt 0 ] || break; "
            less = f"{grow}fallocate -o $(stat -c %s {FILLER}) -l $n {FILLER} 2>/dev/null || break; done"
        else:
            # Written, it would take the machine's memory: the disk shrinks to little more than what is on it. That is refused when
            # programs have written more than this since we looked.
            used = f"$(stat -f -c '%b %f %S' {SCRATCH} | {{ read blocks free size; echo $(((blocks - free) * size)); }})"
            size = f"size=$(({used} + (more << 20))); [ $size -lt {cluster.spec.disk_bytes} ] || break"
            less = f"for more in {MORE_MIB}; do {size}; mount -o remount,size=$size {SCRATCH} 2>/dev/null && break; done"
        cluster.shell(node, f": > {FILLER}; {less}; cat /dev/zero >> {FILLER} 2>/dev/null || :; sync -f {SCRATCH}")

    def undo(self, cluster: Cluster, node: str) -> None:
        is_server = cluster.host(node).role in (META, STORE)
        if is_server and ("pause", node) in active(cluster):
            raise ClusterError(f"{node}: its server stands still and has to be started anew: undo pause first")
        if not cluster.spec.images:
            cluster.shell(node, f"mount -o remount,size={cluster.spec.disk_bytes} {SCRATCH}")
        cluster.shell(node, f"rm -f {FILLER}")
        # A server that has met a full disk may hold it for damaged until it is started again, and a metadata server has not written
        # all its changes down; one that was killed meanwhile starts when that is undone.
        if is_server and ("kill", node) not in active(cluster):
            file_system_of(cluster.spec).restart(cluster, node)
