"""However a cluster ends, the machine is as before: no process, mount, namespace, link, control group or file is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tailrace.cluster import Cluster, ClusterError, ClusterSpec, names_up, up
from tailrace.cluster.cluster import sweep_ended
from tailrace.cluster.inside import throttle
from tailrace.cluster.ranks import Ranks, command_for

from tests.clusters import PACKAGE, Traces, family_of, loops_of, own_name, skip_or_fail, until
from tests.environment import HANGS_S
from tests.mpirun import run_within

LIMIT_S = 30.0


@dataclass
class Held:
    """A cluster that another process started and holds."""

    cluster: Cluster
    starter: subprocess.Popen[bytes]
    keeper: int
    supervisor: int
    traces: Traces


def left_in_the_end(traces: Traces) -> list[str]:
    deadline = time.monotonic() + LIMIT_S
    while (left := traces.left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.fixture
def held(tailrace_command: list[str], tmp_path: Path) -> Iterator[Held]:
    """With images as disks, one of them limited where the kernel can. The kernel does not remove these by itself."""
    name = own_name()
    skip_or_fail(ClusterSpec(name, images=str(tmp_path)))
    before = Traces.before(name, tmp_path)
    shape = ["--nodes", "2", "--servers", "1", "--network", "user", "--images", str(tmp_path), "--disk", "128M"]
    with subprocess.Popen([*tailrace_command, "cluster", "up", "-c", name, *shape, "--hold"], stdout=subprocess.PIPE) as starter:
        try:
            yield see_all_of(starter, name, before)
        finally:
            starter.kill()
            if name in names_up():
                Cluster(name).end()


def see_all_of(starter: subprocess.Popen[bytes], name: str, before: Traces) -> Held:
    """While the cluster is up, all the traces exist that are searched after its end."""
    assert starter.stdout is not None
    for line in starter.stdout:
        if line.startswith(b"up after"):
            break
    else:
        pytest.fail("the cluster did not start")
    cluster = Cluster(name)
    groups = throttle.why_not() is None
    if groups:
        cluster.limit_disk("n1", 4 << 20)
    (keeper,) = [child for child in children_of(starter.pid) if b"supervisor" in Path(f"/proc/{child}/cmdline").read_bytes()]
    (supervisor,) = children_of(keeper)
    held = Held(cluster, starter, keeper, supervisor, before.of(supervisor))
    assert len(held.traces.namespaces) == 4 * (1 + 5), "the supervisor and its nodes share none, with the machine or each other"
    assert {line.split(":")[0] for line in held.traces.left()} == {"process", "door", "loop device", *(["control group"] * groups)}
    assert len(family_of(supervisor)) > 8
    assert len(loops_of(before.images)) == 5
    return held


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def kill_starter_of_a_busy_cluster(held: Held) -> None:
    """While a program runs and a server is paused."""
    held.cluster.shell("n1", "sleep 1000 & sleep 1000 &")
    held.cluster.shell("store1", "kill -s STOP -- -1")
    held.starter.kill()


def down_while_a_slow_disk_is_written(held: Held) -> None:
    """A writer waits for 64 seconds, and no signal ends that."""
    if throttle.why_not() is None:
        held.cluster.limit_disk("n1", 1 << 18)
    held.cluster.shell("n1", "setsid dd if=/dev/zero of=/mnt/scratch/slow bs=16M count=1 2>/dev/null & sleep 1")
    began_s = time.monotonic()
    held.cluster.end()
    assert time.monotonic() - began_s < 32


WAYS: dict[str, Callable[[Held], None]] = {
    "down": lambda held: held.cluster.end(),
    "down while a slow disk is written": down_while_a_slow_disk_is_written,
    "starter killed": lambda held: held.starter.kill(),
    "starter asked to end": lambda held: held.starter.terminate(),
    "supervisor killed": lambda held: kill(held.supervisor),
    "keeper killed": lambda held: kill(held.keeper),
    "starter of a busy cluster killed": kill_starter_of_a_busy_cluster,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left(held: Held, tmp_path: Path, way: str) -> None:
    WAYS[way](held)
    assert left_in_the_end(held.traces) == []
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ClusterError, match="tailrace cluster up"):
        Cluster(held.cluster.name)


@pytest.mark.skipif(throttle.why_not() is not None, reason=f"no slow disks: {throttle.why_not()}")
def test_what_a_killed_keeper_and_supervisor_leave_is_swept_by_the_next_command(held: Held) -> None:
    os.kill(held.keeper, signal.SIGSTOP)
    kill(held.supervisor)
    kill(held.keeper)
    held.starter.kill()
    until(lambda: all("control group" in line for line in held.traces.left()))
    assert held.traces.left() != []
    sweep_ended()
    assert left_in_the_end(held.traces) == []


def programs_of(pid: int) -> list[str]:
    """The names of a process and its descendants."""
    found = []
    for member in family_of(pid):
        with contextlib.suppress(OSError):  # it has just ended
            found.append(Path(f"/proc/{member}/comm").read_text().strip())
    return found


# Moments of a cluster that comes up: its name and the process that holds it.
MOMENTS: dict[str, Callable[[str, int], bool]] = {
    "its name is taken": lambda name, pid: name in names_up(),
    "its first nodes are made": lambda name, pid: sum(text.startswith("node ") for text in programs_of(pid)) >= 3,
    "all nodes are made": lambda name, pid: sum(text.startswith("node ") for text in programs_of(pid)) == 9,
    "its metadata server starts": lambda name, pid: "mfsmaster" in programs_of(pid),
    "the file system is mounted": lambda name, pid: "mfsmount" in programs_of(pid),
    "Slurm starts": lambda name, pid: "slurmctld" in programs_of(pid),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_comes_up(tailrace_command: list[str], tmp_path: Path, moment: str) -> None:
    name = own_name()
    skip_or_fail(ClusterSpec(name, images=str(tmp_path), slurm=True))
    traces = Traces.before(name, tmp_path)
    words = [*tailrace_command, "cluster", "up", "-c", name, "--images", str(tmp_path), "--disk", "128M", "--slurm"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as starter:
        until(lambda: MOMENTS[moment](name, starter.pid), pause_s=0.002)
        assert starter.poll() is None, "it was faster than this test expects"
        traces = traces.of(starter.pid)
        assert {line.split(":")[0] for line in traces.left()} >= {"process", "door"}
        starter.kill()
    assert left_in_the_end(traces) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file_system", ["moosefs", "glusterfs"])
def test_services_leave_no_file(file_system: str) -> None:
    """Services write only in the cluster's folders, not in those of their packages, which other services may use."""
    name = own_name()
    spec = ClusterSpec(name, nodes=2, servers=2, file_system=file_system, slurm=True)
    skip_or_fail(spec)
    traces = Traces.before(name)
    with up(spec) as cluster:
        command, environment = command_for(
            cluster, ["sh", "-c", "echo > /mnt/pfs/$SLURM_PROCID"], Ranks(4, cluster.compute_nodes, slurm=True)
        )
        cluster.on("login", *command, timeout_s=HANGS_S, **environment)
        (keeper,) = [child for child in children_of(os.getpid()) if name.encode() in Path(f"/proc/{child}/cmdline").read_bytes()]
        traces = traces.of(keeper)
        server = "mfschunkserver" if file_system == "moosefs" else "glusterfsd"
        assert {server, "slurmctld", "munged"} <= set(programs_of(keeper))
        assert [line for line in traces.left() if line.startswith("file")] == []
    assert left_in_the_end(traces) == []


def test_a_cluster_that_stays_outlives_its_starter(tailrace_command: list[str]) -> None:
    name = own_name()
    skip_or_fail(ClusterSpec(name, file_system="none"))
    traces = Traces.before(name)
    up = [*tailrace_command, "cluster", "up", "-c", name, "-f", "none", "-n", "1"]
    try:
        assert run_within(up).returncode == 0
        assert Cluster(name).on("n1", "hostname") == "n1\n"
        again = run_within(up)
        assert again.returncode == 2
        assert f"a cluster '{name}' is up" in again.stderr
    finally:
        ended = run_within([*tailrace_command, "cluster", "down", "-c", name])
    assert ended.returncode == 0, ended.output
    assert traces.left() == []


def test_a_cluster_that_cannot_start_leaves_nothing(tailrace_command: list[str], tmp_path: Path) -> None:
    """The folder for its disks does not exist."""
    name = own_name()
    skip_or_fail(ClusterSpec(name))
    traces = Traces.before(name)
    nowhere = tmp_path / "nowhere"
    refused = run_within([*tailrace_command, "cluster", "up", "-c", name, "--images", str(nowhere)])
    assert refused.returncode == 2
    assert f"{nowhere} is not a folder" in refused.stderr.replace("\n", "")
    assert traces.left() == []


def test_a_cluster_whose_nodes_cannot_start_leaves_nothing(tailrace_command: list[str], tmp_path: Path) -> None:
    """Their disks are larger than a file may be, which only the nodes find out."""
    name = own_name()
    skip_or_fail(ClusterSpec(name, images=str(tmp_path)))
    traces = Traces.before(name, tmp_path)
    failed = run_within([*tailrace_command, "cluster", "up", "-c", name, "--images", str(tmp_path), "--disk", "100T"])
    assert failed.returncode == 2, failed.output
    assert f"cluster {name} did not start: node" in failed.stderr.replace("\n", " ")
    assert left_in_the_end(traces) == []


@pytest.mark.full
def test_many_times_up_and_down() -> None:
    """Each cluster has all services, and leaves nothing behind."""
    skip_or_fail(ClusterSpec(own_name(), slurm=True))
    for _ in range(30):
        name = own_name()
        traces = Traces.before(name)
        with up(ClusterSpec(name, nodes=2, slurm=True, network="user")) as cluster:
            assert cluster.on("login", "srun", "-N", "2", "hostname").split() in (["n1", "n2"], ["n2", "n1"])
        assert traces.left() == []


# ---- rights and programs ---------------------------------------------------------------------------------------------------------


def test_without_root_it_is_refused(tailrace_command: list[str]) -> None:
    skip_or_fail(ClusterSpec(own_name(), file_system="none"))
    program = "import os, sys\nfrom tailrace.cluster import ClusterSpec, NotPossible, up\nos.setresuid(65534, 65534, 65534)\n"
    program += "try:\n    up(ClusterSpec('refused')).__enter__()\nexcept NotPossible as error:\n    print(error)"
    finished = run_within([sys.executable, "-c", program], PACKAGE)
    assert "root: user 65534 is not root: run this as root, or with sudo" in finished.stdout, finished.output


def test_missing_programs_are_named_with_their_package(tmp_path: Path) -> None:
    skip_or_fail(ClusterSpec(own_name()))
    for program in ("ip", "tc", "nsenter", "mount"):
        (tmp_path / program).symlink_to(shutil.which(program) or "missing")
    code = "from tailrace.cluster import ClusterSpec, NotPossible, up\n"
    code += "try:\n    up(ClusterSpec('refused', slurm=True)).__enter__()\nexcept NotPossible as error:\n    print(error)"
    finished = run_within([sys.executable, "-c", code], {**PACKAGE, "PATH": str(tmp_path)})
    for text in ("mfsmaster: not on the PATH: install Debian's package moosefs-master", "munge", "slurm-client"):
        assert text in finished.stdout, finished.output
    assert "iproute2" not in finished.stdout


def test_others_than_root_may_not_come_in() -> None:
    name = own_name()
    skip_or_fail(ClusterSpec(name, file_system="none"))
    code = "import os, sys\nfrom tailrace.cluster import Cluster, ClusterError\nos.setresuid(65534, 65534, 65534)\n"
    code += f"try:\n    Cluster('{name}')\nexcept ClusterError as error:\n    print(error)"
    with up(ClusterSpec(name, nodes=1, file_system="none")):
        finished = run_within([sys.executable, "-c", code], PACKAGE)
    assert "only root may use a cluster" in finished.stdout, finished.output
