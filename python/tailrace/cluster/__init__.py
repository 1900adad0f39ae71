"""One machine as a cluster: nodes with links, disks and a distributed file system, for studies, teaching and tests.

with up(ClusterSpec("drill", nodes=4)) as cluster:
    print(cluster.on("n1", "hostname"))
"""

from typing import TYPE_CHECKING

from tailrace import lazy
from tailrace.cluster.values import ClusterError, ClusterSpec, Link, NotPossible

if TYPE_CHECKING:
    from tailrace.cluster.cluster import Cluster, Done, names_up
    from tailrace.cluster.launch import up, up_to_stay
else:
    _MODULES = {"Cluster": "cluster", "Done": "cluster", "names_up": "cluster", "up": "launch", "up_to_stay": "launch"}
    __getattr__, __dir__ = lazy.attributes(__name__, _MODULES)

__all__ = ["Cluster", "ClusterError", "ClusterSpec", "Done", "Link", "NotPossible", "names_up", "up", "up_to_stay"]
