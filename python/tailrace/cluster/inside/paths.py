"""Paths on every node."""

SHARED = "/run/tailrace"  # the same on all nodes of a cluster, in memory
DOOR = f"{SHARED}/door"  # the supervisor's socket
AGENT = f"{SHARED}/agent"  # the remote shell of mpirun
SCRATCH = "/mnt/scratch"  # the node's own disk
FILE_SYSTEM = "/mnt/pfs"  # the distributed file system
TEMPORARY = "/run/tmp"  # the node's own, in memory
