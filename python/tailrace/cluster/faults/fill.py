"""A disk without room: a server's, or the scratch of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.cluster.inside.paths import SCRATCH
from tailrace.cluster.values import STORE

if TYPE_CHECKING:
    from tailrace.cluster.cluster import Cluster

FILLER = f"{SCRATCH}/.tailrace-fill"


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
            grow += f"fallocate -o $(stat -c %s {FILLER}) -l $n {FILLER} 2>/dev/null || break; done"
            cluster.shell(node, f": > {FILLER}; {grow}; cat /dev/zero >> {FILLER} 2>/dev/null || :; sync -f {SCRATCH}")
        else:
            # A file would take the machine's memory: the disk shrinks to what is on it. A size of 0 would be no limit at all.
            used = f"$(stat -f -c '%b %f %S' {SCRATCH} | {{ read blocks free size; echo $(((blocks - free) * size)); }})"
            cluster.shell(node, f"head -c 4096 /dev/zero > {FILLER}; mount -o remount,size={used} {SCRATCH}")

    def undo(self, cluster: Cluster, node: str) -> None:
        if not cluster.spec.images:
            cluster.shell(node, f"mount -o remount,size={cluster.spec.disk_bytes} {SCRATCH}")
        cluster.shell(node, f"rm -f {FILLER}")
        if cluster.host(node).role == STORE:
            from tailrace.cluster.filesystems import file_system_of

            # A server that has met a full disk may hold it for damaged until it is started again.
            file_system_of(cluster.spec).restart(cluster, node)
