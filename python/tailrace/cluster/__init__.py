"""One machine as a cluster: nodes with links, disks and a distributed file system, for studies, teaching and tests.

with up(ClusterSpec("drill", nodes=4)) as cluster:
    print(cluster.on("n1", "hostname"))
"""

from tailrace.cluster.cluster import Cluster, Done, names_up
from tailrace.cluster.start import up, up_to_stay
from tailrace.cluster.values import ClusterError, ClusterSpec, Link, NotPossible

__all__ = ["Cluster", "ClusterError", "ClusterSpec", "Done", "Link", "NotPossible", "names_up", "up", "up_to_stay"]
