"""Loads on scratch and on the file system, and slow disks."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from tailrace.cluster import Cluster, ClusterError, ClusterSpec, faults, loads
from tailrace.cluster.inside import throttle

from tests.clusters import PACKAGE, NewCluster, loops_of, own_name, skip_or_fail, until
from tests.mpirun import run_within


@pytest.fixture(scope="module")
def cluster(new_cluster: NewCluster) -> Cluster:
    """MooseFS on three nodes."""
    return new_cluster(nodes=3, servers=1, disk_bytes=1 << 30)


def test_load_is_started_steered_and_stopped(cluster: Cluster) -> None:
    def written() -> int:
        """Bytes that the load's processes have written, as the kernel counts them."""
        count = "for p in $(pgrep -x fio); do grep ^wchar /proc/$p/io; done | cut -d' ' -f2"
        return sum(map(int, cluster.shell("n3", count).split()))

    loads.start(cluster, "fio", "n3", "scratch", loads.Level(mib_per_s=8))
    until(lambda: written() > 8 << 20)
    began_s, before = time.monotonic(), written()
    time.sleep(2)
    rate = (written() - before) / (time.monotonic() - began_s) / (1 << 20)
    assert 1 < rate < 24, "8 MiB/s were asked for"
    assert loads.steer(cluster, "n3", mib_per_s=0.0, jobs=2) == loads.Level(2, 0.0)
    until(lambda: written() > 200 << 20)
    with pytest.raises(ClusterError, match="has a load already"):
        loads.start(cluster, "fio", "n3", "scratch", loads.Level())
    loads.stop(cluster, "n3")
    assert cluster.try_on("n3", ["pgrep", "fio"]).status == 1
    assert loads.running(cluster) == {}
    assert cluster.on("n3", "ls", "-A", "/mnt/scratch").count("load") == 0


def test_a_load_ends_with_its_node_and_starts_again(cluster: Cluster) -> None:
    loads.start(cluster, "fio", "n3", "scratch", loads.Level(mib_per_s=1))
    faults.inject(cluster, "kill", "n3")
    assert loads.running(cluster) == {}
    faults.undo(cluster)
    loads.start(cluster, "fio", "n3", "scratch", loads.Level(mib_per_s=1))
    loads.stop(cluster, "n3")
    with pytest.raises(ClusterError, match="servers do not mount"):
        loads.start(cluster, "fio", "store1", "pfs", loads.Level())


def test_bonnie_on_the_file_system(cluster: Cluster, tailrace_command: list[str]) -> None:
    load = [*tailrace_command, "cluster", "load", "-c", cluster.name]
    refused = run_within([*load, "start", "n2", "--with", "bonnie", "--mib-per-s", "5"])
    assert refused.returncode == 2
    assert "bonnie++ has no rate" in refused.stderr
    assert run_within([*load, "start", "n2", "--with", "bonnie", "--on", "pfs"]).returncode == 0
    until(lambda: "load-n2" in cluster.on("n1", "ls", "-A", "/mnt/pfs"))
    until(lambda: cluster.try_on("n2", ["pgrep", "bonnie"]).status == 0)
    assert run_within([*load, "stop", "n2"]).returncode == 0
    assert cluster.try_on("n2", ["pgrep", "bonnie"]).status == 1


@pytest.mark.skipif(throttle.why_not() is not None, reason=f"no slow disks: {throttle.why_not()}")
def test_slow_disks(new_cluster: NewCluster, tmp_path: Path) -> None:
    """Images of ext4: 12 MiB take a second and a half at 8 MiB/s, and much less after the limit is lifted."""
    cluster = new_cluster(nodes=2, file_system="none", images=str(tmp_path), disk_bytes=256 << 20)
    assert "ext4" in cluster.on("n1", "stat", "-f", "-c", "%T", "/mnt/scratch").replace("ext2/ext3", "ext4")
    assert list(tmp_path.iterdir()) == [], "images have no names"

    def seconds(node: str) -> float:
        began_s = time.monotonic()
        cluster.on(node, "dd", "if=/dev/zero", "of=/mnt/scratch/slow", "bs=1M", "count=12")
        return time.monotonic() - began_s

    def least_seconds(node: str) -> float:
        """Other programs on this machine make it longer, not shorter."""
        return min(seconds(node) for _ in range(4))

    with pytest.raises(ClusterError, match="20 bytes a second"):
        cluster.limit_disk("n1", 20)
    cluster.limit_disk("n1", 8 << 20)
    assert cluster.slow_disks() == {"n1": 8 << 20}
    assert seconds("n1") > 1.2
    assert least_seconds("n2") < 1.2, "others are not concerned"
    cluster.limit_disk("n1", 0)
    assert cluster.slow_disks() == {}
    assert least_seconds("n1") < 1.2
    faults.inject(cluster, "fill", "n2")
    assert "No space left" in cluster.try_on("n2", ["dd", "if=/dev/zero", "of=/mnt/scratch/more", "bs=64k", "count=16"]).stderr
    faults.undo(cluster)
    assert seconds("n2") < 5


# In a mount namespace whose /dev makes no entries of its own, as that of a container.
BARE = """
import os, stat, subprocess, sys
from tailrace.cluster.inside import disk, kernel
folder, mounted = sys.argv[1:]
kernel.unshare(kernel.CLONE_NEWNS)
kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)
kernel.mount_memory("/dev", 1 << 20)
os.mknod("/dev/loop-control", 0o600 | stat.S_IFCHR, os.makedev(10, 237))
os.mknod("/dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
disk.mount_image(folder, 64 << 20, mounted)
subprocess.run(["mount", "-o", "remount,sync", mounted], check=True)
print(os.path.ismount(mounted), os.listdir(mounted), sorted(os.listdir("/dev")))
"""


def test_a_disk_leaves_no_entry_where_dev_makes_none_of_its_own(tmp_path: Path) -> None:
    skip_or_fail(ClusterSpec(own_name(), file_system="none", images=str(tmp_path)))
    (mounted := tmp_path / "mounted").mkdir()
    finished = run_within([sys.executable, "-c", BARE, str(tmp_path), str(mounted)], PACKAGE)
    assert finished.stdout == "True ['lost+found'] ['loop-control', 'null']\n", finished.output
    until(lambda: loops_of(tmp_path) == [])
