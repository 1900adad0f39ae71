"""A cluster that is up: programs on its nodes, its links and disks, its end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import socket
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tailrace.cluster.inside import agent, throttle, wire
from tailrace.cluster.inside.paths import DOOR, SCRATCH, SHARED
from tailrace.cluster.values import COMPUTE, ClusterError, ClusterSpec, Host, Link, NotPossible, check_link

T = TypeVar("T")
END_S = 20.0
DISKS = "disks"
LEAST_RATE = 64 << 10  # of a slow disk, in bytes a second: its programs cannot be killed while they wait for it
LISTED = "@" + wire.PREFIX[1:]  # how /proc/net/unix shows abstract names


@dataclass(frozen=True)
class Done:
    status: int
    stdout: str
    stderr: str


class Cluster:
    """By its name; on a node of a cluster, that one. ClusterError where none is up."""

    def __init__(self, name: str) -> None:
        self.name = name
        described = self.describe()
        self.name = described["name"]
        self.spec = ClusterSpec.from_json(described["spec"])
        self.hosts = tuple(Host(host["name"], host["role"], host["address"]) for host in described["hosts"])
        self.network_kind: str = described["network"]["kind"]

    # ---- the door --------------------------------------------------------------------------------------------------------------

    def connect(self) -> socket.socket:
        try:
            return wire.connect(self.name)
        except PermissionError as error:
            raise ClusterError(f"cluster {self.name}: {error}") from None
        except OSError:
            others = ", ".join(names_up()) or "none is"
            raise ClusterError(
                f"no cluster '{self.name}' is up (up: {others}); `tailrace cluster up -c {self.name}` makes it"
            ) from None

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        with self.connect() as end:
            answer = wire.ask(end, dict(message))
        if "error" in answer:
            raise ClusterError(f"cluster {self.name}: {answer['error']}")
        return answer

    def describe(self) -> dict[str, Any]:
        return self.ask({"do": "describe"})

    def note(self, kind: str, key: str, value: Any) -> None:
        """Kept by the cluster until it ends, for whoever asks later; None: no longer."""
        self.ask({"do": "note", "kind": kind, "key": key, "value": value})

    def noted(self, kind: str) -> dict[str, Any]:
        """By key, the oldest first."""
        found: dict[str, Any] = self.describe()["notes"].get(kind, {})
        return found

    # ---- nodes -----------------------------------------------------------------------------------------------------------------

    @property
    def compute_nodes(self) -> tuple[str, ...]:
        return self.with_role(COMPUTE)

    def with_role(self, *roles: str) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts if host.role in roles)

    def host(self, name: str) -> Host:
        for host in self.hosts:
            if host.name == name:
                return host
        raise ClusterError(f"no node is called '{name}'; there are {', '.join(host.name for host in self.hosts)}")

    def ended(self) -> list[str]:
        """Nodes whose first process was killed: nothing can be done on them any more."""
        return list(self.describe()["ended"])

    def run(self, node: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """In the foreground, with our own standard streams; its exit status."""
        self.refuse_nothing(node, command)
        try:
            status, reason = agent.run(self.name, node, command, self.environment(environment))
        except OSError as error:
            raise ClusterError(f"cluster {self.name}: {error}") from None
        if reason:
            raise ClusterError(f"{node}: {reason}")
        return status

    def try_on(
        self, node: str, command: Sequence[str], *, timeout_s: float | None = 60, directory: str | None = None, **environment: str
    ) -> Done:
        """Runs a command on a node and keeps what it prints. TimeoutError, after it was ended, when it takes too long. Without
        `directory` in ours, or where the node lacks it in one for temporary files."""
        self.refuse_nothing(node, command)
        with self.connect() as end, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            try:
                streams = (nothing, out.fileno(), err.fileno())
                agent.start(end, node, command, streams, self.environment(environment), directory, directory is None)
            finally:
                os.close(nothing)
            if not select.select([end], [], [], timeout_s)[0]:
                raise TimeoutError(f"{node}: {' '.join(command)}: not finished after {timeout_s:g} s")
            status, reason = agent.wait_for(end)
            if reason:
                raise ClusterError(f"{node}: {reason}")
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return Done(status, *texts)

    def refuse_nothing(self, node: str, command: Sequence[str]) -> None:
        self.host(node)
        if not command or command == ["--"]:
            raise ClusterError(f"{node}: no command is given: write it behind the node's name")

    def on(self, node: str, *command: str, timeout_s: float | None = 60, **environment: str) -> str:
        """What the command prints; ClusterError when it fails."""
        done = self.try_on(node, command, timeout_s=timeout_s, **environment)
        if done.status != 0:
            said = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise ClusterError(f"{node}: `{' '.join(command)}` ended with status {done.status}: {said}")
        return done.stdout

    def shell(self, node: str, script: str, timeout_s: float | None = 60) -> str:
        return self.on(node, "/bin/sh", "-ec", script, timeout_s=timeout_s)

    def write(self, node: str, path: str, text: str) -> None:
        """A file on the node; in the shared folder, on all of them."""
        self.on(node, "/bin/sh", "-ec", 'mkdir -p "$(dirname "$0")"; printf %s "$1" > "$0"', path, text)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Ours, and what the services of this cluster add."""
        slurm = f"{SHARED}/slurm/slurm.conf"
        return {**os.environ, "SLURM_CONF": slurm, **(extra or {})}

    # ---- links and disks ---------------------------------------------------------------------------------------------------------

    def links(self) -> dict[str, Link]:
        known = self.describe()["links"]
        return {host.name: Link(**known.get(host.name, {})) for host in self.hosts}

    def set_link(self, node: str, **changes: Any) -> Link:
        """delay_us, rate_mbit, cut; what is not named stays as it is."""
        self.host(node)
        link = dataclasses.replace(self.links()[node], **changes)
        check_link(link)
        if link.delay_us > 0 and self.network_kind == "kernel" and not self.describe()["network"].get("netem"):
            remedy = f"`tailrace cluster down -c {self.name}`, then `up` with --network user"
            raise NotPossible(f"{node}: this kernel has no netem, so the kernel's network cannot delay: {remedy}")
        self.ask({"do": "link", "node": node, "changes": changes})
        return link

    def hold_up_disk(self, node: str, bytes_per_s: int) -> None:
        """Of an image: so many bytes a second each way from the programs of the node; 0: as fast as it goes."""
        self.host(node)
        if not self.spec.images:
            raise ClusterError(f"{node}: its disk is memory, which cannot be slow: `up` with --images FOLDER makes disks of ext4")
        if 0 < bytes_per_s < LEAST_RATE:
            raise ClusterError(f"{node}: {bytes_per_s} bytes a second: must be {LEAST_RATE} or more, or 0 for as fast as it goes")
        if not is_node() and (reason := throttle.why_not()):  # a node does not see what the supervisor does
            raise NotPossible(f"no slow disks here: {reason}")
        self.ask({"do": "hold up", "node": node, "bytes_per_s": bytes_per_s})
        # Otherwise the kernel's own threads write later what programs have written, and nobody holds those up.
        mode = "sync" if bytes_per_s else "async"
        self.on(node, "mount", "-o", f"remount,{mode}", SCRATCH)
        self.note(DISKS, node, bytes_per_s or None)

    def slow_disks(self) -> dict[str, int]:
        """Nodes and the bytes a second that their disks are held to."""
        return self.noted(DISKS)

    # ---- the end -----------------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Returns when no process of the cluster is left."""
        with self.connect() as end:
            keeper, _ = wire.peer_of(end)
            watched = os.pidfd_open(keeper) if keeper else None
            wire.send(end, {"do": "end"})
            if watched is not None:
                ended = select.select([watched], [], [], END_S)[0]
                os.close(watched)
                if not ended:
                    raise ClusterError(f"cluster {self.name}: process {keeper} has not ended after {END_S:g} s")
        throttle.sweep(self.name)


def is_node() -> bool:
    """Whether this is a node of a cluster: our commands reach that one, under any name."""
    return os.path.exists(DOOR)


def names_up() -> list[str]:
    """On a node of a cluster, that one."""
    if is_node():
        with contextlib.suppress(ClusterError):
            return [Cluster("").name]
        return []
    names = set()
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
            path = line.split()[-1]
            if path.startswith(LISTED):
                names.add(path.removeprefix(LISTED))
    return sorted(names)


def sweep_ended() -> None:
    """The control groups of clusters that have ended with their keeper killed."""
    for name in throttle.clusters_with_groups() - set(names_up()):
        throttle.sweep(name)


def each(action: Callable[[str], T], nodes: Iterable[str]) -> list[T]:
    """For all nodes at once; the first error, after all have come to their end."""
    names = list(nodes)
    with ThreadPoolExecutor(max_workers=max(1, min(16, len(names)))) as pool:
        return list(pool.map(action, names))
