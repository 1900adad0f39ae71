"""However a cluster ends, the machine is as before: no process, mount, namespace, link, control group or file is left."""

from __future__ import annotations

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

from tests.clusters import Traces, family_of, own_name, skip_or_fail
from tests.environment import ROOT
from tests.mpirun import run_within

LIMIT_S = 30.0
PACKAGE = {"PYTHONPATH": str(ROOT / "python")}


@dataclass
class Held:
    """A cluster that another process has brought up and holds."""

    cluster: Cluster
    starter: subprocess.Popen[bytes]
    keeper: int
    supervisor: int
    traces: Traces

    def left_in_the_end(self) -> list[str]:
        deadline = time.monotonic() + LIMIT_S
        while (left := self.traces.left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


@pytest.fixture
def held(tailrace_command: list[str], tmp_path: Path) -> Iterator[Held]:
    """With disks that are images, one of them slow: the kinds of things that the kernel does not end by itself."""
    name = own_name()
    skip_or_fail(ClusterSpec(name, images=str(tmp_path)))
    shape = ["--nodes", "2", "--servers", "1", "--network", "user", "--images", str(tmp_path), "--disk", "128M"]
    with subprocess.Popen([*tailrace_command, "cluster", "up", "-c", name, *shape, "--hold"], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        for line in starter.stdout:
            if line.startswith(b"up after"):
                break
        else:
            pytest.fail("the cluster did not start")
        cluster = Cluster(name)
        cluster.hold_up_disk("n1", 4 << 20)
        (keeper,) = [child for child in children_of(starter.pid) if b"supervisor" in Path(f"/proc/{child}/cmdline").read_bytes()]
        (supervisor,) = children_of(keeper)
        made = Held(cluster, starter, keeper, supervisor, Traces.of(cluster, supervisor))
        assert any("control group" in line for line in made.traces.left()), "what is looked for afterwards is there now"
        assert len(family_of(supervisor)) > 8
        assert loops_of(tmp_path) == 5
        yield made
        starter.kill()
        if name in names_up():
            cluster.end()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def loops_of(folder: Path) -> int:
    backing = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    return sum(str(folder) in text for text in backing)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def kill_starter_of_a_busy_cluster(held: Held) -> None:
    """While a program runs, and a server stands still."""
    held.cluster.shell("n1", "sleep 1000 & sleep 1000 &")
    held.cluster.shell("store1", "kill -s STOP -- -1")
    held.starter.kill()


WAYS: dict[str, Callable[[Held], None]] = {
    "down": lambda held: held.cluster.end(),
    "starter killed": lambda held: held.starter.kill(),
    "starter told to end": lambda held: held.starter.terminate(),
    "supervisor killed": lambda held: kill(held.supervisor),
    "keeper killed": lambda held: kill(held.keeper),
    "starter of a busy cluster killed": kill_starter_of_a_busy_cluster,
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left(held: Held, tmp_path: Path, way: str) -> None:
    WAYS[way](held)
    assert held.left_in_the_end() == []
    deadline = time.monotonic() + LIMIT_S
    while loops_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert loops_of(tmp_path) == 0
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ClusterError, match="tailrace cluster up"):
        Cluster(held.cluster.name)


def test_what_a_killed_keeper_and_supervisor_leave_is_swept_by_the_next_command(held: Held) -> None:
    os.kill(held.keeper, signal.SIGSTOP)
    kill(held.supervisor)
    kill(held.keeper)
    held.starter.kill()
    time.sleep(0.5)
    left = held.traces.left()
    assert all("control group" in line for line in left), left
    sweep_ended()
    assert held.left_in_the_end() == []


def test_killed_while_it_comes_up(tailrace_command: list[str], tmp_path: Path) -> None:
    """At several moments: before the supervisor, while nodes are made, while services start."""
    skip_or_fail(ClusterSpec(own_name(), images=str(tmp_path)))
    for after_s in (0.45, 0.6, 0.8, 1.2, 2.0):
        name = own_name()
        words = [*tailrace_command, "cluster", "up", "-c", name, "--images", str(tmp_path), "--disk", "128M", "--slurm"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as starter:
            time.sleep(after_s)
            was_up = starter.poll() is not None
            starter.kill()
        assert not was_up, "it was faster than this test expects"
        deadline = time.monotonic() + LIMIT_S
        while ((left := Traces(name, frozenset()).left()) or loops_of(tmp_path)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == []
        assert loops_of(tmp_path) == 0


def test_a_cluster_that_stays_outlives_its_starter(tailrace_command: list[str]) -> None:
    name = own_name()
    skip_or_fail(ClusterSpec(name, file_system="none"))
    up = [*tailrace_command, "cluster", "up", "-c", name, "-f", "none", "-n", "1"]
    try:
        assert run_within(up, 60).returncode == 0
        assert Cluster(name).on("n1", "hostname") == "n1\n"
        again = run_within(up, 60)
        assert again.returncode == 2
        assert f"a cluster '{name}' is up" in again.stderr
    finally:
        ended = run_within([*tailrace_command, "cluster", "down", "-c", name], 60)
    assert ended.returncode == 0, ended.output
    assert Traces(name, frozenset()).left() == []


def test_a_cluster_that_cannot_start_leaves_nothing(tailrace_command: list[str], tmp_path: Path) -> None:
    """Its disks have no place."""
    name = own_name()
    skip_or_fail(ClusterSpec(name))
    nowhere = tmp_path / "nowhere"
    refused = run_within([*tailrace_command, "cluster", "up", "-c", name, "--images", str(nowhere)], 60)
    assert refused.returncode == 2
    assert f"{nowhere} is not a folder" in refused.stderr.replace("\n", "")
    assert Traces(name, frozenset()).left() == []


@pytest.mark.full
def test_many_times_up_and_down() -> None:
    """With everything in it, and nothing left after thirty of them."""
    skip_or_fail(ClusterSpec(own_name(), slurm=True))
    for _ in range(30):
        name = own_name()
        with up(ClusterSpec(name, nodes=2, slurm=True, network="user")) as cluster:
            assert cluster.on("login", "srun", "-N", "2", "hostname").split() in (["n1", "n2"], ["n2", "n1"])
        assert Traces(name, frozenset()).left() == []


# ---- rights and programs ---------------------------------------------------------------------------------------------------------


def test_without_root_it_is_refused(tailrace_command: list[str]) -> None:
    skip_or_fail(ClusterSpec(own_name(), file_system="none"))
    program = "import os, sys\nfrom tailrace.cluster import ClusterSpec, NotPossible, up\nos.setresuid(65534, 65534, 65534)\n"
    program += "try:\n    up(ClusterSpec('refused')).__enter__()\nexcept NotPossible as error:\n    print(error)"
    finished = run_within([sys.executable, "-c", program], 60, PACKAGE)
    assert "root: user 65534 is not root: run this as root, or with sudo" in finished.stdout, finished.output


def test_missing_programs_are_named_with_their_package(tmp_path: Path) -> None:
    skip_or_fail(ClusterSpec(own_name()))
    for program in ("ip", "tc", "nsenter", "mount"):
        (tmp_path / program).symlink_to(shutil.which(program) or "missing")
    code = "from tailrace.cluster import ClusterSpec, NotPossible, up\n"
    code += "try:\n    up(ClusterSpec('refused', slurm=True)).__enter__()\nexcept NotPossible as error:\n    print(error)"
    finished = run_within([sys.executable, "-c", code], 60, {**PACKAGE, "PATH": str(tmp_path)})
    for text in ("mfsmaster: not on the PATH: install Debian's package moosefs-master", "munge", "slurm-client"):
        assert text in finished.stdout, finished.output
    assert "iproute2" not in finished.stdout


def test_others_than_root_may_not_come_in() -> None:
    name = own_name()
    skip_or_fail(ClusterSpec(name, file_system="none"))
    code = "import os, sys\nfrom tailrace.cluster import Cluster, ClusterError\nos.setresuid(65534, 65534, 65534)\n"
    code += f"try:\n    Cluster('{name}')\nexcept ClusterError as error:\n    print(error)"
    with up(ClusterSpec(name, nodes=1, file_system="none")):
        finished = run_within([sys.executable, "-c", code], 60, PACKAGE)
    assert "only root may use a cluster" in finished.stdout, finished.output
