"""A cluster on this machine: ranks packed and spread, Slurm, links, every fault and its undoing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tailrace.cluster import Cluster, ClusterError, NotPossible, faults, loads
from tailrace.cluster.cluster import Done, each
from tailrace.cluster.ranks import Ranks, command_for

from tests.clusters import NewCluster, family_of, until
from tests.environment import HANGS_S
from tests.mpirun import run_within

RANKS = 8
SUM = sum(range(RANKS))
WHEN_SPREAD = {0: "n1", 1: "n1", 2: "n2", 3: "n2", 4: "n3", 5: "n3", 6: "n4", 7: "n4"}
WHEN_PACKED = {rank: "n1" if rank < 4 else "n2" for rank in range(RANKS)}


@pytest.fixture(scope="module")
def cluster(new_cluster: NewCluster) -> Cluster:
    """MooseFS on four nodes with Slurm, joined by the switch in user space."""
    return new_cluster(slurm=True, network="user", disk_bytes=1 << 30)


@pytest.fixture
def drill(cluster: Cluster) -> Iterator[Cluster]:
    """The same cluster. After each test its faults are undone and its links reset, also when the test failed."""
    yield cluster
    faults.undo(cluster)
    for host in cluster.hosts:
        cluster.set_link(host.name, delay_us=0.0, rate_mbit=0.0)


def hosts_of(printed: str) -> dict[int, str]:
    found = {}
    for line in printed.splitlines():
        rank, host, total = line.split()
        assert int(total) == SUM
        found[int(rank)] = host
    return found


# ---- ranks ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_ranks_packed_and_spread(cluster: Cluster, build_dir: Path, tailrace_command: list[str], mpi: str) -> None:
    program = build_dir / ("mpich/tests" if mpi == "mpich" else "tests") / "where_case"
    for how, expected in (("--packed", WHEN_PACKED), ("--spread", WHEN_SPREAD)):
        words = ["cluster", "run", "-c", cluster.name, "--mpi", mpi, "--ranks", str(RANKS), how, str(program)]
        finished = run_within([*tailrace_command, *words])
        assert finished.returncode == 0, finished.output
        assert hosts_of(finished.stdout) == expected, finished.output


def test_chosen_nodes_and_the_exit_status_of_the_program(cluster: Cluster, tailrace_command: list[str]) -> None:
    words = ["cluster", "run", "-c", cluster.name, "--ranks", "2", "--nodes", "n4,n2"]
    finished = run_within([*tailrace_command, *words, "hostname"])
    assert finished.returncode == 0, finished.output
    assert Counter(re.findall(r"^n\d$", finished.stdout, re.MULTILINE)) == {"n2": 1, "n4": 1}
    # Not in one run: mpirun ends the other rank, which may not have printed yet.
    finished = run_within([*tailrace_command, *words, "sh", "-c", "exit 7"])
    assert finished.returncode == 7, finished.output


def test_every_byte_through_the_file_system(cluster: Cluster, build_dir: Path) -> None:
    """Written by 8 ranks on 4 nodes, read back by 4 on one."""
    folder = "/mnt/pfs/every-byte"
    choices = ["set=climate", "decomposition=blocks2d", "steps=2"]
    for preset in ("fpp", "shared"):
        there = f"{folder}/{preset}"
        write = [str(build_dir / "tests" / "write_case"), there, "history", f"layout = '{preset}'", *choices]
        command, environment = command_for(cluster, write, Ranks(RANKS, cluster.compute_nodes))
        done = cluster.try_on("login", command, timeout_s=HANGS_S, **environment)
        assert done.status == 0, done
        read = [str(build_dir / "tests" / "read_case"), there, "history", *choices[:2]]
        command, environment = command_for(cluster, read, Ranks(4, ["n3"]))
        done = cluster.try_on("login", command, timeout_s=HANGS_S, **environment)
        assert done.status == 0, done


def test_srun(cluster: Cluster, build_dir: Path) -> None:
    program = str(build_dir / "tests" / "where_case")
    command, environment = command_for(cluster, [program], Ranks(RANKS, cluster.compute_nodes, slurm=True))
    done = cluster.try_on("login", command, timeout_s=HANGS_S, **environment)
    assert done.status == 0, done
    assert hosts_of(done.stdout) == WHEN_SPREAD


def test_srun_packs_what_does_not_fill_the_last_node(cluster: Cluster) -> None:
    command, environment = command_for(cluster, ["hostname"], Ranks(5, cluster.compute_nodes, "packed", slurm=True))
    assert Counter(cluster.on("login", *command, timeout_s=HANGS_S, **environment).split()) == {"n1": 4, "n2": 1}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_srun_keeps_the_order_of_the_nodes_and_takes_more_ranks_than_slots(cluster: Cluster, build_dir: Path, mpi: str) -> None:
    program = str(build_dir / ("mpich/tests" if mpi == "mpich" else "tests") / "where_case")
    command, environment = command_for(cluster, [program], Ranks(RANKS, ["n4", "n2"], "packed", slots=6, mpi=mpi, slurm=True))
    printed = cluster.on("login", *command, timeout_s=HANGS_S, **environment)
    assert hosts_of(printed) == {rank: "n4" if rank < 6 else "n2" for rank in range(RANKS)}


def test_a_barrier_of_slurm_s_waits_for_ranks_of_other_nodes(cluster: Cluster, build_dir: Path) -> None:
    command, environment = command_for(
        cluster, [str(build_dir / "tests" / "barrier_case")], Ranks(RANKS, cluster.compute_nodes, slurm=True)
    )
    printed = cluster.on("login", *command, timeout_s=HANGS_S, **environment)
    when = {int(rank): float(seconds) for rank, seconds in map(str.split, printed.splitlines())}
    assert sorted(when) == list(range(RANKS))
    assert min(when.values()) == when[0], when


def test_sbatch(cluster: Cluster, build_dir: Path) -> None:
    """A job with a step that uses PMIx, from the queue to its output."""
    program = build_dir / "tests" / "where_case"
    folder = "/mnt/pfs/job"
    script = f"#!/bin/sh\nsrun --mpi=pmix {program} > {folder}/ranks\necho ended > {folder}/end\n"
    cluster.write("login", f"{folder}/job.sh", script)
    shown = cluster.on("login", "sbatch", "-N", "4", "-n", str(RANKS), "-m", "block", "-o", f"{folder}/log", f"{folder}/job.sh")
    assert "Submitted batch job" in shown
    look = f"for i in $(seq 600); do [ -e {folder}/end ] && break; sleep 0.1; done; cat {folder}/log; cat {folder}/ranks"
    printed = cluster.shell("login", look, timeout_s=HANGS_S)
    assert sorted(hosts_of(printed)) == list(range(RANKS)), printed


# ---- nodes ---------------------------------------------------------------------------------------------------------------------


def test_a_node_has_its_own_name_processes_network_and_disk(cluster: Cluster) -> None:
    assert cluster.on("n2", "hostname") == "n2\n"
    assert "10.77.2.2/16" in cluster.on("n2", "ip", "-br", "address", "show", "eth0")
    processes = cluster.on("n2", "ps", "-e", "-o", "pid=,comm=").split("\n")
    assert len(processes) < 15
    cluster.shell("n2", "echo two > /mnt/scratch/own; echo two > /mnt/pfs/shared; echo two > /dev/shm/own")
    assert cluster.try_on("n3", ["cat", "/mnt/scratch/own"]).status == 1
    assert cluster.try_on("n3", ["cat", "/dev/shm/own"]).status == 1
    assert cluster.on("n3", "cat", "/mnt/pfs/shared") == "two\n"
    assert not Path("/mnt/scratch").exists()


def test_unknown_names_are_answered_with_the_known_ones(cluster: Cluster, tailrace_command: list[str]) -> None:
    for words, text in (
        (["exec", "n9", "true"], "login, meta, store1, store2, store3, n1, n2, n3, n4"),
        (["fault", "flood", "n1"], "cut, kill, pause, restart, fill"),
        (["run", "--ranks", "99", "true"], "4 nodes with 4 slots each take 16"),
        (["fault", "restart", "n1"], "servers are meta, store1, store2, store3"),
        (["disk", "n1", "--rate", "1M"], "--images"),
    ):
        command, *others = words
        finished = run_within([*tailrace_command, "cluster", command, "-c", cluster.name, *others])
        assert finished.returncode == 2, finished.output
        assert text in " ".join(finished.stderr.split()), finished.output
    finished = run_within([*tailrace_command, "cluster", "exec", "-c", "nowhere", "n1", "true"])
    assert finished.returncode == 2
    assert f"{cluster.name}" in finished.stderr
    assert "tailrace cluster up" in " ".join(finished.stderr.split())


@pytest.mark.full
def test_a_second_cluster_beside_it_uses_the_same_addresses(cluster: Cluster, new_cluster: NewCluster) -> None:
    other = new_cluster(nodes=2, file_system="none")
    for name, of in (("first", cluster), ("second", other)):
        of.shell("n2", f"echo {name} > /mnt/scratch/which")
    assert cluster.on("n2", "cat", "/mnt/scratch/which") == "first\n"
    assert other.on("n2", "cat", "/mnt/scratch/which") == "second\n"
    assert other.host("n2").address == cluster.host("n2").address
    assert round_trip_ms(other) > 0
    with pytest.raises(ClusterError, match="no file system"):
        loads.start(other, "fio", "n1", "pfs", loads.Level())


def test_status(cluster: Cluster, tailrace_command: list[str]) -> None:
    finished = run_within([*tailrace_command, "cluster", "status", "-c", cluster.name, "--json"])
    shown = json.loads(finished.stdout)
    assert cluster.name in shown["up"]
    assert [node["name"] for node in shown["cluster"]["nodes"]][:3] == ["login", "meta", "store1"]
    assert run_within([*tailrace_command, "cluster", "status", "-c", "nowhere"]).returncode == 1


def process_of(cluster: Cluster, name: str) -> int:
    """The cluster's process, by its number on the machine."""
    for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdecimal()):
        with contextlib.suppress(OSError):  # it has just ended
            if Path(f"/proc/{pid}/comm").read_text().strip() == "cluster keeper":
                words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                family = family_of(pid) if f"tailrace cluster {cluster.name}" in words else []
                for member in family:
                    if Path(f"/proc/{member}/comm").read_text().strip() == name:
                        return member
    raise AssertionError(f"no process {name}")


def test_what_was_killed_from_outside_is_known_to_have_ended(new_cluster: NewCluster, tailrace_command: list[str]) -> None:
    cluster = new_cluster(nodes=3, file_system="none", network="user")
    faults.inject(cluster, "cut", "n3")
    killed: list[str] = []
    for node in ("n2", "n3"):
        os.kill(process_of(cluster, f"node {node}"), signal.SIGKILL)
        with pytest.raises(ClusterError, match="has ended"):  # at once
            cluster.on(node, "true")
        killed.append(node)
        until(lambda: cluster.ended() == killed)
        with pytest.raises(ClusterError, match=rf"{node} has ended.*tailrace cluster down -c {cluster.name}"):
            cluster.on(node, "true")
    for action in (lambda: cluster.set_link("n2", delay_us=10.0), lambda: faults.inject(cluster, "kill", "n2")):
        with pytest.raises(ClusterError, match="n2 has ended"):
            action()
    assert sorted(cluster.describe()["pids"]) == ["login", "n1"]
    assert faults.undo(cluster) == [("cut", "n3")]
    assert cluster.on("n1", "hostname") == "n1\n"
    status = [*tailrace_command, "cluster", "status", "-c", cluster.name]
    assert len(re.findall(r"\bn[23] .* has ended", run_within(status).stdout)) == 2
    os.kill(process_of(cluster, "tailrace-switch"), signal.SIGKILL)
    until(lambda: json.loads(run_within([*status, "--json"]).stdout)["cluster"]["switch_ended"])
    with pytest.raises(ClusterError, match="the switch was killed"):
        cluster.set_link("n1", delay_us=10.0)


# ---- links ---------------------------------------------------------------------------------------------------------------------


def round_trip_ms(cluster: Cluster, node: str = "n1", to: str = "n2") -> float:
    """The least of several: other programs on this machine delay packets."""
    shown = cluster.on(node, "ping", "-q", "-c", "20", "-i", "0.02", to)
    found = re.search(r"= ([\d.]+)/", shown)
    assert found, shown
    return float(found.group(1))


def test_delay(drill: Cluster) -> None:
    without_ms = round_trip_ms(drill)
    drill.set_link("n1", delay_us=2000.0)
    drill.set_link("n2", delay_us=500.0)
    added_ms = round_trip_ms(drill) - without_ms
    assert 4.5 < added_ms < 7.0, "2 x (2 + 0.5) ms were asked for, and the rest varies"
    assert round_trip_ms(drill, "n3", "n4") < 2.0, "others are not concerned"


@pytest.mark.full
def test_rate(drill: Cluster) -> None:
    """64 MiB at 400 Mbit/s take 1.34 s, and longer on a busy machine."""
    drill.set_link("n1", rate_mbit=400.0)
    began_s = time.monotonic()
    drill.on("n1", "dd", "if=/dev/zero", "of=/mnt/pfs/rate", "bs=1M", "count=64", "conv=fsync")
    took_s = time.monotonic() - began_s
    assert took_s > 1.1
    assert drill.links()["n1"].rate_mbit == 400
    assert drill.links()["n2"].rate_mbit == 0


def seconds_to_send(cluster: Cluster, count: int) -> float:
    """Sends bytes from n1 to n2, and returns when the last has arrived."""
    receive = "import socket; s = socket.create_server(('', 7000)); c, _ = s.accept()\nwhile c.recv(1 << 20): pass"
    send = f"import socket; s = socket.create_connection(('n2', 7000)); s.sendall(bytes({count})); s.shutdown(1); s.recv(1)"
    server = threading.Thread(target=cluster.on, args=("n2", "python3", "-c", receive))
    server.start()
    until(lambda: ":7000" in cluster.on("n2", "ss", "-ltn"))
    began_s = time.monotonic()
    cluster.on("n1", "python3", "-c", send)
    took_s = time.monotonic() - began_s
    server.join(HANGS_S)
    return took_s


def test_the_network_of_the_kernel(new_cluster: NewCluster) -> None:
    cluster = new_cluster(nodes=2, file_system="none", network="kernel")
    cluster.set_link("n1", rate_mbit=200.0)
    assert seconds_to_send(cluster, 25_000_000) > 0.95, "25 MB at 200 Mbit/s are 1 s"
    cluster.set_link("n1", rate_mbit=2.0)
    assert seconds_to_send(cluster, 250_000) > 0.7, "250 kB at 2 Mbit/s are 1 s, of which 64 KiB go at once"
    faults.inject(cluster, "cut", "n1")
    assert cluster.try_on("n2", ["ping", "-c", "1", "-W", "1", "n1"]).status != 0
    faults.undo(cluster)
    assert round_trip_ms(cluster) > 0
    if not cluster.describe()["network"]["netem"]:
        with pytest.raises(NotPossible, match="netem"):
            cluster.set_link("n1", delay_us=10.0)


# ---- faults --------------------------------------------------------------------------------------------------------------------


class Beside:
    """A command on a node that may not have ended yet."""

    def __init__(self, cluster: Cluster, node: str, script: str) -> None:
        self.done: list[Done] = []
        self.thread = threading.Thread(
            target=lambda: self.done.append(cluster.try_on(node, ["/bin/sh", "-c", script], timeout_s=HANGS_S)), daemon=True
        )
        self.thread.start()

    def ends(self, limit_s: float) -> bool:
        self.thread.join(limit_s)
        return bool(self.done)


def test_cut_and_undo(drill: Cluster) -> None:
    faults.inject(drill, "cut", "n2")
    assert drill.try_on("n1", ["ping", "-c", "1", "-W", "1", "n2"]).status != 0
    assert drill.try_on("n1", ["ping", "-c", "1", "-W", "1", "n3"]).status == 0
    assert faults.active(drill) == [("cut", "n2")]
    with pytest.raises(ClusterError, match="tailrace cluster undo cut n2"):
        faults.inject(drill, "cut", "n2")
    faults.undo(drill, "cut", "n2")
    assert drill.try_on("n1", ["ping", "-c", "1", "-W", "1", "n2"]).status == 0
    with pytest.raises(ClusterError, match="nothing to undo"):
        faults.undo(drill, "cut", "n2")


@pytest.mark.full
def test_faults_of_callers_at_the_same_time_are_all_known(drill: Cluster) -> None:
    nodes = drill.compute_nodes
    each(lambda node: faults.inject(drill, "cut", node), nodes)
    assert sorted(faults.active(drill)) == [("cut", node) for node in nodes]
    each(lambda node: drill.set_link(node, delay_us=100.0), nodes)
    assert all(drill.links()[node].cut for node in nodes)
    each(lambda node: faults.undo(drill, "cut", node), nodes)
    assert faults.active(drill) == []


def test_the_metadata_server_is_killed_and_comes_back_with_everything(drill: Cluster) -> None:
    drill.shell("n1", "for i in $(seq 50); do echo $i > /mnt/pfs/kept-$i; done")
    faults.inject(drill, "kill", "meta")
    assert "mfsmaster" not in drill.on("meta", "ps", "-e", "-o", "comm=")
    waiting = Beside(drill, "n2", "cat /mnt/pfs/kept-*")
    assert not waiting.ends(1.0)
    faults.undo(drill)
    assert waiting.ends(60)
    assert sorted(map(int, waiting.done[0].stdout.split())) == list(range(1, 51))


@pytest.mark.full
def test_a_chunk_server_is_killed_and_comes_back_with_its_data(drill: Cluster) -> None:
    drill.shell("n1", "for i in $(seq 30); do echo $i > /mnt/pfs/data-$i; done")
    faults.inject(drill, "kill", "store1")
    faults.inject(drill, "kill", "store2")
    # A third of the files is on each server; not from the cache of the node that wrote them.
    waiting = Beside(drill, "n3", "cat /mnt/pfs/data-*")
    assert not waiting.ends(1.0)
    assert [entry[1] for entry in faults.undo(drill)] == ["store2", "store1"]
    assert waiting.ends(90)
    assert sorted(map(int, waiting.done[0].stdout.split())) == list(range(1, 31))


def test_a_paused_server_goes_on_where_it_was(drill: Cluster) -> None:
    faults.inject(drill, "pause", "meta")
    waiting = Beside(drill, "n1", "echo late > /mnt/pfs/late")
    assert not waiting.ends(1.0)
    faults.undo(drill, "pause")
    assert waiting.ends(60)
    assert drill.on("n2", "cat", "/mnt/pfs/late") == "late\n"


@pytest.mark.full
def test_the_metadata_server_restarts_in_order(drill: Cluster) -> None:
    drill.shell("n1", "echo before > /mnt/pfs/before")
    before = drill.on("meta", "pgrep", "-x", "mfsmaster").split()
    faults.inject(drill, "restart", "meta")
    assert set(before).isdisjoint(drill.on("meta", "pgrep", "-x", "mfsmaster").split())
    servers = drill.on("meta", "mfscli", "-H", drill.host("meta").address, "-SCS", "-n", "-p", "-s", "|")
    assert "disconnected" not in servers
    assert faults.active(drill) == []
    assert drill.on("n2", "cat", "/mnt/pfs/before") == "before\n"
    drill.shell("n1", "echo after > /mnt/pfs/after")


def test_a_compute_node_is_killed_and_has_its_mount_and_slurm_again(drill: Cluster) -> None:
    faults.inject(drill, "kill", "n4")
    assert drill.try_on("n4", ["ls", "/mnt/pfs"]).status != 0
    faults.undo(drill)
    drill.shell("n1", "echo all > /mnt/pfs/all")
    assert drill.on("n4", "cat", "/mnt/pfs/all") == "all\n"
    assert drill.on("login", "srun", "-w", "n4", "hostname") == "n4\n"


def test_many_faults_are_undone_whatever_came_first(drill: Cluster) -> None:
    """A node's mount needs the metadata server, and Slurm's nodes their controller. In the order of the faults none would start."""
    drill.shell("n1", "echo kept > /mnt/pfs/kept-by-all")
    for fault, node in (("fill", "store1"), ("cut", "n1"), ("kill", "meta"), ("kill", "store1"), ("kill", "login"), ("kill", "n1")):
        faults.inject(drill, fault, node)
    faults.inject(drill, "kill", "n2")
    for fault in ("restart", "fill", "pause"):
        with pytest.raises(ClusterError, match="tailrace cluster undo kill meta"):
            faults.inject(drill, fault, "meta")
    assert len(faults.undo(drill)) == 7
    assert faults.active(drill) == []
    assert drill.on("n1", "cat", "/mnt/pfs/kept-by-all") == "kept\n"
    assert sorted(drill.on("login", "srun", "-w", "n1,n2", "hostname").split()) == ["n1", "n2"]


@pytest.mark.full
def test_one_of_two_killed_nodes_is_revived(drill: Cluster) -> None:
    """Meanwhile Slurm treats the other node as dead."""
    for node in ("n3", "n4"):
        faults.inject(drill, "kill", node)
    until(lambda: re.search(r"\*|down", drill.on("login", "sinfo", "-h", "-n", "n4", "-o", "%T")), 60)
    faults.undo(drill, "kill", "n3")
    assert drill.on("login", "srun", "-w", "n3", "hostname") == "n3\n"
    faults.undo(drill)


@pytest.mark.full
def test_the_metadata_server_keeps_what_was_made_while_its_disk_was_full(drill: Cluster) -> None:
    faults.inject(drill, "fill", "meta")
    drill.shell("n1", "for i in $(seq 20); do : > /mnt/pfs/made-$i; done")
    faults.undo(drill)
    faults.inject(drill, "kill", "meta")
    faults.undo(drill)
    assert drill.shell("n2", "ls /mnt/pfs/made-* | wc -l").strip() == "20"


def test_a_full_disk_and_room_again(drill: Cluster) -> None:
    faults.inject(drill, "fill", "n1")
    write = ["dd", "if=/dev/zero", "of=/mnt/scratch/more", "bs=1M", "count=1"]
    full = drill.try_on("n1", write)
    assert full.status != 0
    assert "No space left" in full.stderr
    assert drill.try_on("n2", write).status == 0
    faults.undo(drill, "fill", "n1")
    assert drill.try_on("n1", write).status == 0


@pytest.mark.full
def test_a_disk_that_is_being_written_is_filled(drill: Cluster) -> None:
    write = "i=0; while :; do i=$((i + 1)); head -c 100000 /dev/zero > /mnt/scratch/growing-$i || exit; done"
    writing = Beside(drill, "n1", write)
    until(lambda: drill.try_on("n1", ["test", "-e", "/mnt/scratch/growing-100"]).status == 0)
    faults.inject(drill, "fill", "n1")
    assert writing.ends(30)
    assert "No space left" in writing.done[0].stderr
    assert drill.on("n1", "stat", "-f", "-c", "%a", "/mnt/scratch") == "0\n"
    faults.undo(drill)
    drill.shell("n1", "rm /mnt/scratch/growing-*")


@pytest.mark.full
def test_full_servers_hold_writers_up_until_there_is_room(drill: Cluster) -> None:
    """MooseFS returns no error: the writer waits."""
    for store in drill.with_role("store"):
        faults.inject(drill, "fill", store)
    waiting = Beside(drill, "n1", "dd if=/dev/zero of=/mnt/pfs/full bs=1M count=32 conv=fsync")
    assert not waiting.ends(2.0)
    assert len(faults.undo(drill)) == 3
    assert waiting.ends(90)
    assert drill.on("n2", "stat", "-c", "%s", "/mnt/pfs/full") == f"{32 << 20}\n"


@pytest.mark.full
def test_glusterfs(new_cluster: NewCluster) -> None:
    """The second file system: shared by all nodes, a server that is killed and comes back with its files, one that is restarted,
    and a node that mounts without the first server."""
    cluster = new_cluster(nodes=2, file_system="glusterfs", disk_bytes=1 << 30)
    cluster.shell("n1", "for i in $(seq 20); do echo $i > /mnt/pfs/kept-$i; done")
    read = "cat /mnt/pfs/kept-*"
    assert sorted(map(int, cluster.shell("n2", read).split())) == list(range(1, 21))
    faults.inject(cluster, "kill", "store2")
    assert len(cluster.try_on("n2", ["/bin/sh", "-c", read]).stdout.split()) < 20, "some were on that server"
    faults.undo(cluster)
    until(lambda: sorted(map(int, cluster.try_on("n2", ["/bin/sh", "-c", read]).stdout.split())) == list(range(1, 21)), 60)
    before = cluster.on("store1", "pgrep", "-x", "glusterd|glusterfsd").split()
    faults.inject(cluster, "restart", "store1")
    after = cluster.on("store1", "pgrep", "-x", "glusterd|glusterfsd").split()
    assert len(before) == len(after) == 2, "the daemon and the brick"
    assert set(before).isdisjoint(after)
    until(lambda: cluster.try_on("n1", ["/bin/sh", "-c", read]).status == 0, 60)
    for node in ("store1", "n2"):
        faults.inject(cluster, "kill", node)
    faults.undo(cluster, "kill", "n2")
    cluster.on("n2", "mountpoint", "/mnt/pfs")
    for node in ("store2", "store3"):
        faults.inject(cluster, "kill", node)
    assert len(faults.undo(cluster)) == 3, "also of servers that are all gone"
    until(lambda: sorted(map(int, cluster.try_on("n2", ["/bin/sh", "-c", read]).stdout.split())) == list(range(1, 21)), 60)
