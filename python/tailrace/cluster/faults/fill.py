"""A full disk: of a server, or the scratch of a node."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.active_faults import active
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.filesystems import file_system_of
from tailrace.cluster.inside.paths import SCRATCH
from tailrace.cluster.values import META, STORE, ClusterError

FILLER = f"{SCRATCH}/.tailrace-fill"
MORE_MIB = "8 64 512"  # room beside what is on the disk; the least that works is taken, and then written full


@dataclass(frozen=True)
class Fill:
    name: str = "fill"
    lasts: bool = True
    what: str = "the node's disk has no free byte left; undo frees the room and restarts the server"

    def inject(self, cluster: Cluster, node: str) -> None:
        if cluster.spec.images:
            # The space is reserved, not written, so that the image does not grow.
            free = f"$(stat -f -c '%a * %S' {SCRATCH})"
            grow = f"while :; do n=$(({free})); [ $n -gt 0 ] || break; "
            less = f"{grow}fallocate -o $(stat -c %s {FILLER}) -l $n {FILLER} 2>/dev/null || break; done"
        else:
            # Writing the whole disk would take the machine's memory. So the disk shrinks to little more than its content. The
            # kernel refuses that when programs have written more than this meanwhile; then more room is tried.
            used = f"$(stat -f -c '%b %f %S' {SCRATCH} | {{ read blocks free size; echo $(((blocks - free) * size)); }})"
            size = f"size=$(({used} + (more << 20))); [ $size -lt {cluster.spec.disk_bytes} ] || break"
            less = f"for more in {MORE_MIB}; do {size}; mount -o remount,size=$size {SCRATCH} 2>/dev/null && break; done"
        cluster.shell(node, f": > {FILLER}; {less}; cat /dev/zero >> {FILLER} 2>/dev/null || :; sync -f {SCRATCH}")

    def undo(self, cluster: Cluster, node: str) -> None:
        is_server = cluster.host(node).role in (META, STORE)
        if is_server and ("pause", node) in active(cluster):
            raise ClusterError(
                f"{node}: its server is paused and must be restarted: first "
                f"run `tailrace cluster undo pause {node} -c {cluster.name}`"
            )
        if not cluster.spec.images:
            cluster.shell(node, f"mount -o remount,size={cluster.spec.disk_bytes} {SCRATCH}")
        cluster.shell(node, f"rm -f {FILLER}")
        # A server that met a full disk may treat it as damaged until it is restarted. A metadata server has not written all its
        # changes. A server that was killed meanwhile starts when the kill is undone.
        if is_server and ("kill", node) not in active(cluster):
            file_system_of(cluster.spec).restart(cluster, node)
