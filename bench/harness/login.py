"""Benches that also measure on a cluster. Their process runs on the cluster's login node, which has the machine's files, too."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tailrace.cluster import Cluster, ClusterSpec, up
from tailrace.cluster.cluster import is_node as has_cluster
from tailrace.cluster.inside import paths
from tailrace.cluster.ranks import Ranks, command_for
from tailrace.cluster.values import LOGIN, NotPossible

from bench.harness import console

SHARED = Path(paths.FILE_SYSTEM)  # what all nodes have
SCRATCH = Path(paths.SCRATCH)  # of each node, in memory
NODES = 2


def on_login(module: str, main: Callable[[], int]) -> int:
    """Makes a cluster, runs the bench `module` on its login node with this process's arguments, and returns its exit status. Where
    no cluster can be made, `main` runs here, and says that it has none."""
    if has_cluster():
        return main()
    try:
        with up(ClusterSpec(f"bench-{os.getpid()}", nodes=NODES)) as cluster:
            return cluster.run(LOGIN, [sys.executable, "-m", module, *sys.argv[1:]])
    except NotPossible as error:
        console.print(f"nothing is measured on a cluster: {error}")
        return main()


def on_nodes(words: Sequence[str], ranks: int) -> list[str]:
    """The command by which ranks run on the nodes, equally many on each."""
    cluster = Cluster("")
    command, _ = command_for(cluster, words, Ranks(ranks, cluster.compute_nodes, slots=ranks))
    return command
