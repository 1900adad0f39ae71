"""MooseFS: a master on the node meta, a chunk server on each store node, a FUSE mount on the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tailrace.cluster.active_faults import active
from tailrace.cluster.cluster import Cluster
from tailrace.cluster.inside.paths import FILE_SYSTEM, SCRATCH, SHARED
from tailrace.cluster.values import META, STORE
from tailrace.cluster.waiting import wait_until

FOLDER = f"{SHARED}/moosefs"
DATA = f"{SCRATCH}/moosefs"
EMPTY = "/var/lib/mfs/metadata.mfs.empty"
READY_S = 30.0
LEFT = "32MiB"  # of each disk, which a chunk server leaves free

MASTER = f"""WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = {DATA}
EXPORTS_FILENAME = {FOLDER}/exports.cfg
TOPOLOGY_FILENAME = {FOLDER}/topology.cfg
REPLICATIONS_DELAY_INIT = 5
NICE_LEVEL = 0
"""
CHUNK_SERVER = f"""WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = {DATA}
HDD_CONF_FILENAME = {FOLDER}/disks.cfg
HDD_LEAVE_SPACE_DEFAULT = {LEFT}
MASTER_RECONNECTION_DELAY = 1
NICE_LEVEL = 0
"""


@dataclass(frozen=True)
class MooseFS:
    name: str = "moosefs"
    programs: Mapping[str, str] = field(
        default_factory=lambda: {
            "mfsmaster": "moosefs-master",
            "mfschunkserver": "moosefs-chunkserver",
            "mfsmount": "moosefs-client",
            "mfssetgoal": "moosefs-client",
            "mfscli": "moosefs-cli",
        }
    )
    has_servers: bool = True
    has_metadata_server: bool = True

    def prepare(self, cluster: Cluster) -> None:
        address = cluster.host(META).address
        files = {
            "master.cfg": MASTER,
            "chunkserver.cfg": f"{CHUNK_SERVER}MASTER_HOST = {address}\n",
            "disks.cfg": f"{DATA}/chunks\n",
            "exports.cfg": "* / rw,alldirs,admin,maproot=0:0\n* . rw\n",
            "topology.cfg": "",
        }
        for name, text in files.items():
            cluster.write(META, f"{FOLDER}/{name}", text)

    def start(self, cluster: Cluster, node: str) -> None:
        role = cluster.host(node).role
        if role == META:
            # -a: after a kill, replay the change logs written since the last whole image
            new = (
                f"mkdir -p {DATA}; [ -e {DATA}/metadata.mfs ] || [ -e {DATA}/metadata.mfs.back ] || cp {EMPTY} {DATA}/metadata.mfs"
            )
            cluster.shell(node, f"{new}; exec mfsmaster -a -c {FOLDER}/master.cfg start")
        elif role == STORE:
            cluster.shell(node, f"mkdir -p {DATA}/chunks; exec mfschunkserver -c {FOLDER}/chunkserver.cfg start")
        else:
            address = cluster.host(META).address
            cluster.shell(node, f"umount -l {FILE_SYSTEM} 2>/dev/null || :; exec mfsmount -H {address} {FILE_SYSTEM} -o mfsnice=0")

    def join(self, cluster: Cluster) -> None:
        self._wait_for(cluster, cluster.with_role(STORE))

    def _wait_for(self, cluster: Cluster, nodes: Iterable[str]) -> None:
        """Returns when these chunk servers have reached the master."""
        stores = [cluster.host(store).address for store in nodes]

        def missing() -> str:
            shown = cluster.try_on(META, ["mfscli", "-H", cluster.host(META).address, "-SCS", "-n", "-p", "-s", "|"]).stdout
            connected = [line for line in shown.splitlines() if "chunk servers" in line and "disconnected" not in line]
            absent = [address for address in stores if not any(f"|{address}|" in line for line in connected)]
            return f"chunk servers {', '.join(absent)} have not reached the master" if absent else ""

        wait_until(missing, READY_S)

    def wait_until_writable(self, cluster: Cluster) -> None:
        """Sets one copy of each file, as on a parallel file system's storage servers, and removal at once."""
        node = cluster.compute_nodes[0]
        cluster.shell(node, f"mfssetgoal -r 1 {FILE_SYSTEM}; mfssettrashtime -r 0 {FILE_SYSTEM}")
        probe = f"{FILE_SYSTEM}/.tailrace-probe"
        script = f"echo 1 > {probe} && rm {probe}"
        wait_until(lambda: cluster.try_on(node, ["/bin/sh", "-c", script]).stderr, READY_S)

    def restart(self, cluster: Cluster, node: str) -> None:
        if cluster.host(node).role == META:
            cluster.shell(node, f"mfsmaster -c {FOLDER}/master.cfg stop")
        else:
            cluster.shell(node, f"mfschunkserver -c {FOLDER}/chunkserver.cfg stop")
        self.start(cluster, node)
        # Servers with another fault cannot reach the master, so they are not waited for.
        faulty = {where for fault, where in active(cluster) if fault in ("kill", "pause", "cut")} | set(cluster.ended())
        if META not in faulty:
            stores = cluster.with_role(STORE) if cluster.host(node).role == META else (node,)
            self._wait_for(cluster, [store for store in stores if store not in faulty])
