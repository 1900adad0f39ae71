"""The links of a cluster, in the supervisor's network namespace: a bridge of the kernel, or the switch in user space.

Both connect every node by one interface, eth0. The kernel's bridge is faster, and can delay packets only where the kernel has
netem. The switch in user space delays on any kernel that has TUN.
"""

from __future__ import annotations

import select
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

MTU_BYTES = 9000
READY_S = 60.0  # for all links of the largest cluster; meanwhile the supervisor replies to no other request
# The burst after a pause. With less than BURST_BYTES, packets of the offload are cut. With less than BURST_MS, the rate drops where
# timers are late because the cores are busy (1 ms: 6 % at 1 Gbit/s).
BURST_BYTES = 1 << 16
BURST_MS = 2
QUEUE_MS = 50
NETEM_PACKETS = 100_000  # more than a link holds at any sensible delay, because netem must not drop packets


@dataclass(frozen=True)
class Link:
    """The link of one node, the same in both directions. A rate of 0 is no limit. Between two nodes the delays of both links add
    up."""

    delay_us: float = 0.0
    rate_mbit: float = 0.0
    cut: bool = False


class Network(Protocol):
    @property
    def has_ended(self) -> bool:
        """Whether the process that forwards packets was killed."""

    def start(self, pids: Mapping[str, int]) -> None: ...

    def set_link(self, node: str, link: Link, pid: int) -> None:
        """`pid`: the node's first process."""

    def reaped(self, pid: int) -> None:
        """Called for each process that has ended."""


def run(words: Sequence[str], text: str = "") -> None:
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=READY_S)
    except subprocess.TimeoutExpired:
        raise OSError(f"{' '.join(words)}: not finished after {READY_S:g} s") from None
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def in_network_of(pid: int) -> list[str]:
    return ["nsenter", f"--net=/proc/{pid}/ns/net"]


class KernelNetwork:
    has_ended = False

    def start(self, pids: Mapping[str, int]) -> None:
        lines = ["link set lo up", f"link add bridge0 mtu {MTU_BYTES} type bridge forward_delay 0 mcast_snooping 0"]
        lines.append("link set bridge0 up")
        for node, pid in pids.items():
            peer = f"peer name eth0 mtu {MTU_BYTES} netns {pid}"
            lines.append(f"link add {node} mtu {MTU_BYTES} type veth {peer}")
            lines.append(f"link set {node} master bridge0 up")
        run(["ip", "-batch", "-"], "\n".join(lines))

    def set_link(self, node: str, link: Link, pid: int) -> None:
        run(["ip", "link", "set", node, "down" if link.cut else "up"])
        for start, interface in (([], node), (in_network_of(pid), "eth0")):
            subprocess.run([*start, "tc", "qdisc", "del", "dev", interface, "root"], capture_output=True, check=False)
            for words in shaping(interface, link):
                run([*start, *words])

    def reaped(self, pid: int) -> None:
        """The kernel forwards without a process."""


def shaping(interface: str, link: Link) -> list[list[str]]:
    """The commands that make an interface send like the link. netem delays packets after tbf has passed them."""
    add = ["tc", "qdisc", "add", "dev", interface]
    commands = []
    if link.delay_us > 0:
        delay = ["netem", "delay", f"{link.delay_us:.0f}us", "limit", str(NETEM_PACKETS)]
        commands.append([*add, "root", "handle", "1:", *delay])
    if link.rate_mbit > 0:
        burst_bytes = max(BURST_BYTES, int(link.rate_mbit * 125 * BURST_MS))
        rate = ["tbf", "rate", f"{link.rate_mbit * 1000:.0f}kbit", "burst", str(burst_bytes), "latency", f"{QUEUE_MS}ms"]
        commands.append([*add, *(["parent", "1:1", "handle", "2:"] if commands else ["root"]), *rate])
    return commands


class UserNetwork:
    def __init__(self, program: str) -> None:
        self.program = program
        self.process: subprocess.Popen[str] | None = None
        self.has_ended = False

    def start(self, pids: Mapping[str, int]) -> None:
        ports = [f"{node}=/proc/{pid}/ns/net" for node, pid in pids.items()]
        self.process = subprocess.Popen(
            [self.program, *ports], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._expect("ready")

    def set_link(self, node: str, link: Link, pid: int) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        rate_mbit = -1.0 if link.cut else link.rate_mbit
        self.process.stdin.write(f"{node} {link.delay_us} {rate_mbit}\n")
        self.process.stdin.flush()
        self._expect("ok")

    def reaped(self, pid: int) -> None:
        self.has_ended = self.has_ended or (self.process is not None and pid == self.process.pid)

    def _expect(self, word: str) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], READY_S)[0]:
            self.process.kill()  # a late reply would be taken for the reply to another request
            raise OSError(f"{self.program}: no reply after {READY_S:g} s, so it was ended: no link carries packets")
        line = self.process.stdout.readline().strip()
        if line != word:
            raise OSError(f"{self.program}: {line or 'ended'}")


def configure_nodes(pids: Mapping[str, int], addresses: Mapping[str, str]) -> None:
    """Sets the address and state of each node's interface."""
    for node, pid in pids.items():
        lines = ["link set lo up", f"link set eth0 mtu {MTU_BYTES}", f"addr add {addresses[node]}/16 dev eth0", "link set eth0 up"]
        run([*in_network_of(pid), "ip", "-batch", "-"], "\n".join(lines))


def network_of(described: Mapping[str, Any]) -> Network:
    return UserNetwork(described["switch"]) if described["kind"] == "user" else KernelNetwork()
