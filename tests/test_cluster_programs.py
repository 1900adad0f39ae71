"""Programs on the nodes of a cluster: their streams, status, signals and folders, and programs that cannot start."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from tailrace.cluster import Cluster, ClusterError

from tests.clusters import NewCluster, until
from tests.environment import HANGS_S
from tests.mpirun import run_within


@pytest.fixture(scope="module")
def cluster(new_cluster: NewCluster) -> Cluster:
    return new_cluster(nodes=2, file_system="none")


def test_exec_passes_input_status_and_signals(cluster: Cluster, tailrace_command: list[str]) -> None:
    on = [*tailrace_command, "cluster", "exec", "-c", cluster.name, "n1", "--"]
    done = subprocess.run(
        [*on, "sh", "-c", "cat; echo wrong >&2; exit 3"], input="given", capture_output=True, text=True, timeout=HANGS_S
    )
    assert (done.stdout, done.stderr, done.returncode) == ("given", "wrong\n", 3)
    assert run_within([*on, "no-such-program"]).returncode == 127
    with subprocess.Popen([*on, "sh", "-c", "trap 'exit 5' TERM; echo there; while :; do sleep 0.1; done"], stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 5


def test_what_cannot_be_started_harms_nothing_on_the_node(cluster: Cluster, tailrace_command: list[str]) -> None:
    """No program, a name that is not UTF-8, a full standard error, a folder that the node does not have."""
    cluster.shell("n1", "sleep 5432 & sleep 0.1")
    running = cluster.on("n1", "pgrep", "-f", "sleep 5432")
    on = [*tailrace_command, "cluster", "exec", "-c", cluster.name, "n1", "--"]
    nothing = run_within(on)
    assert nothing.returncode == 2
    assert "no command is given" in " ".join(nothing.stderr.split())
    with pytest.raises(ClusterError, match="no command is given"):
        cluster.on("n1")
    assert run_within([*on, os.fsdecode(b"\xff\xfe")]).returncode == 127
    with open("/dev/full", "w") as full:
        assert subprocess.run([*on, "no-such-program"], stderr=full, timeout=HANGS_S, check=False).returncode == 127
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        lost = run_within([*on, "touch", "made"], cwd=elsewhere)
        assert lost.returncode == 127
        assert f"{elsewhere}: this node has no such folder" in lost.stderr
    assert not Path("/made").exists()
    assert cluster.on("n1", "pgrep", "-f", "sleep 5432") == running
    cluster.on("n1", "kill", *running.split())


def test_a_node_knows_its_own_cluster(cluster: Cluster, tailrace_command: list[str]) -> None:
    found = cluster.try_on("n1", [*tailrace_command, "cluster", "status"])
    assert found.status == 0, found.stderr
    assert cluster.name in found.stdout


def test_signals_that_the_caller_ignores_do_not_reach_the_program(cluster: Cluster, tailrace_command: list[str]) -> None:
    on = shlex.join(
        [*tailrace_command, "cluster", "exec", "-c", cluster.name, "n1", "--", "sh", "-c", "echo there; sleep 1; exit 7"]
    )
    with subprocess.Popen(["sh", "-c", f"trap '' HUP; exec {on}"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGHUP)
        assert process.wait(30) == 7


def test_programs_on_a_node_can_be_quit(cluster: Cluster) -> None:
    assert cluster.try_on("n1", ["timeout", "-s", "QUIT", "0.2", "sleep", "30"]).status == 124


def test_what_a_caller_started_ends_with_the_caller(cluster: Cluster, tailrace_command: list[str]) -> None:
    mark = "exec sleep 98765"
    with subprocess.Popen([*tailrace_command, "cluster", "exec", "-c", cluster.name, "n1", "sh", "-c", mark]) as process:
        until(lambda: "98765" in cluster.on("n1", "ps", "-e", "-o", "args="))
        process.kill()
    until(lambda: "98765" not in cluster.on("n1", "ps", "-e", "-o", "args="))
