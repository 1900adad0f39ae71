"""The pure parts of a cluster: placement, addresses, links, commands; and refusals."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from tailrace.cli.cluster.choices import parse_bytes
from tailrace.cluster import check, loads, plan
from tailrace.cluster.filesystems import FILE_SYSTEMS, file_system_of
from tailrace.cluster.inside import throttle, wire
from tailrace.cluster.inside.network import Link, shaping
from tailrace.cluster.values import ClusterError, ClusterSpec
from tailrace.launch.mpi import MPIS
from tailrace.launch.nodes import RemoteShell, mpirun_command, srun_command
from tailrace.launch.placement import PACKED, SPREAD, PlacementError, place

pytestmark = pytest.mark.fast

NODES = ("n1", "n2", "n3", "n4")


def test_packed_takes_as_few_nodes_as_can_be_and_spread_all() -> None:
    assert place(8, NODES, 4, PACKED) == [("n1", 4), ("n2", 4)]
    assert place(8, NODES, 4, SPREAD) == [("n1", 2), ("n2", 2), ("n3", 2), ("n4", 2)]
    assert place(5, NODES, 4, PACKED) == [("n1", 4), ("n2", 1)]
    assert place(5, NODES, 4, SPREAD) == [("n1", 2), ("n2", 1), ("n3", 1), ("n4", 1)]
    assert place(2, NODES, 4, SPREAD) == [("n1", 1), ("n2", 1)]


def test_any_placement_has_all_ranks_and_overfills_no_node(rng: random.Random) -> None:
    for _ in range(500):
        slots, nodes = rng.randint(1, 5), NODES[: rng.randint(1, 4)]
        ranks = rng.randint(1, slots * len(nodes))
        for how in (PACKED, SPREAD):
            counts = [count for _, count in place(ranks, nodes, slots, how)]
            assert sum(counts) == ranks
            assert max(counts) <= slots
            assert (len(counts) == -(-ranks // slots)) if how == PACKED else (max(counts) - min(counts) <= 1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((17, NODES, 4, PACKED), "17 ranks: 4 nodes with 4 slots each take 16"),
        ((0, NODES, 4, PACKED), "at least 1"),
        ((1, (), 4, PACKED), "no nodes"),
        ((2, ("n1", "n1"), 4, SPREAD), "twice"),
        ((1, NODES, 4, "scattered"), "packed or spread"),
    ],
)
def test_what_cannot_be_placed_is_refused(arguments: Any, text: str) -> None:
    with pytest.raises(PlacementError, match=text):
        place(*arguments)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ({"name": "Two Words"}, "cannot name a cluster"),
        ({"nodes": 0}, "nodes = 0: give 1 to 250"),
        ({"servers": 101}, "servers = 101"),
        ({"disk_bytes": 1}, "disk_bytes = 1"),
        ({"network": "carrier pigeon"}, "auto, kernel, user"),
        ({"links": Link(delay_us=-1)}, "delay of -1 us"),
        ({"links": Link(rate_mbit=0.01)}, r"rate of 0\.01 Mbit/s"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(choices: dict[str, Any], text: str) -> None:
    with pytest.raises(ClusterError, match=text):
        ClusterSpec(**choices)


def test_a_description_survives_its_json() -> None:
    spec = ClusterSpec("drill", nodes=2, links=Link(100.0, 1000.0))
    assert ClusterSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("name", FILE_SYSTEMS)
def test_names_and_addresses_are_all_different(name: str) -> None:
    spec = ClusterSpec(nodes=250, servers=100, file_system=name)
    file_system = file_system_of(spec)
    hosts = plan.hosts_of(spec, has_servers=file_system.has_servers, has_metadata_server=file_system.has_metadata_server)
    servers = 100 if file_system.has_servers else 0
    assert len(hosts) == 1 + file_system.has_metadata_server + servers + 250
    assert len({host.name for host in hosts}) == len({host.address for host in hosts}) == len(hosts)
    table = plan.hosts_table(hosts).splitlines()
    assert table[0] == "127.0.0.1 localhost"
    assert f"{hosts[-1].address} n250" in table


def test_unknown_file_system_names_the_known_ones() -> None:
    with pytest.raises(ClusterError, match="moosefs, glusterfs, none"):
        file_system_of(ClusterSpec(file_system="lustre"))


def test_links_of_the_kernel() -> None:
    assert shaping("eth0", Link()) == []
    (rate,) = shaping("eth0", Link(rate_mbit=1000))
    assert rate[4:] == ["eth0", "root", "tbf", "rate", "1000000kbit", "burst", "250000", "latency", "50ms"]
    (rate,) = shaping("eth0", Link(rate_mbit=10))
    assert rate[-4:-2] == ["burst", "65536"]
    delay, below = shaping("eth0", Link(delay_us=200, rate_mbit=100))
    assert delay[5:] == ["root", "handle", "1:", "netem", "delay", "200us", "limit", "100000"]
    assert below[5:7] == ["parent", "1:1"]


def test_what_the_io_controller_gets(tmp_path: Path) -> None:
    """Version 2 of the control groups, as files; where the machine has it, the tests of slow disks use it."""
    control, group = throttle.Version2(tmp_path), tmp_path / "group"
    group.mkdir()
    assert control.why_not() == f"{tmp_path}/cgroup.controllers does not have io"
    for name, text in (("controllers", "cpu io memory"), ("subtree_control", "cpu"), ("type", "domain"), ("procs", "1\n")):
        (tmp_path / f"cgroup.{name}").write_text(text)
    assert "while it has members" in str(control.why_not()), "a container's group, in which its processes are"
    (tmp_path / "cgroup.procs").write_text("")
    assert control.why_not() is None
    control.allow()
    assert control.allowed.read_text() == "+io"
    control.limit(group, "7:0", 1 << 20, reads=True)
    assert (group / "io.max").read_text() == "7:0 wbps=1048576 rbps=1048576"
    assert control.limited(group) == ["7:0"]
    control.limit(group, "7:0", 0, reads=False)
    assert (group / "io.max").read_text() == "7:0 wbps=max"


def test_each_mpi_gets_the_placement() -> None:
    placed = [("n2", 3), ("n4", 1)]
    for mpi in MPIS.values():
        words = mpirun_command(mpi, placed, RemoteShell("/agent", "eth0"), {"KEY": "value"}, ["./a.out", "x"])
        assert words[0] == mpi.program
        assert words[-2:] == ["./a.out", "x"]
        assert "/agent" in words
        assert "n2:3,n4:1" in words
        assert words[words.index("-n") + 1] == "4"
        setting = mpi.setting({"KEY": "value"})
        assert any(words[at : at + len(setting)] == setting for at in range(len(words)))


def test_srun_gets_each_ranks_node() -> None:
    words = srun_command(MPIS["mpich"], [("n4", 2), ("n2", 1)], {"KEY": "value"}, ["./a.out"])
    assert words[:2] == ["srun", "--mpi=pmi2"]
    assert words[words.index("-w") + 1] == "n4,n4,n2"
    assert words[-3:] == ["env", "KEY=value", "./a.out"]


@pytest.mark.parametrize("sent", [b"x", b"[]", b'{"do": ', b"\xff", b"[" * 500_000])
def test_what_is_no_message_is_an_error_of_the_caller(sent: bytes) -> None:
    ours, theirs = wire.pair()
    with ours, theirs:
        ours.send(sent)
        with pytest.raises(OSError, match="not a message"):
            wire.receive(theirs)


def test_a_message_is_received_whole_or_not_sent() -> None:
    ours, theirs = wire.pair()
    with ours, theirs:
        with pytest.raises(OSError, match="a message of"):
            wire.send(ours, {"argv": ["x" * wire.MOST_BYTES]})
        wire.send(ours, {"argv": ["x" * (wire.MOST_BYTES - 100)]})
        message, _ = wire.receive(theirs)
        assert message is not None
        assert len(message["argv"][0]) == wire.MOST_BYTES - 100


@pytest.mark.parametrize(("text", "count"), [("20M", 20 << 20), ("4GiB", 4 << 30), ("1.5k", 1536), ("0", 0), ("65536", 65536)])
def test_bytes(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("mib_per_s", [math.nan, math.inf, -1.0])
def test_a_load_has_a_rate(mib_per_s: float) -> None:
    with pytest.raises(ClusterError, match=r"give 0 .* or more"):
        loads.Level(1, mib_per_s)


@pytest.mark.parametrize("folder", ["/dev/shm", "/run", "/mnt"])
def test_images_are_not_where_nodes_have_their_own(folder: str) -> None:
    needs = [need for need in check._images(Path(folder)) if need.name == "images"]
    assert "does not see the machine's" in needs[0].reason
