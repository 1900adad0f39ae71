"""A running cluster: programs on its nodes, its links and disks, its end."""

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
LEAST_RATE = 64 << 10  # bytes a second of a slow disk; programs cannot be killed while they wait for it
LISTED = "@" + wire.PREFIX[1:]  # /proc/net/unix shows "@" for the zero byte of abstract names


@dataclass(frozen=True)
class Done:
    status: int
    stdout: str
    stderr: str


class Cluster:
    """A cluster by its name. On a node of a cluster, that cluster, under any name. Raises ClusterError where none is up."""

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
                f"no cluster '{self.name}' is up (up: {others}); make it with `tailrace cluster up -c {self.name}`"
            ) from None

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        with self.connect() as end:
            reply = wire.ask(end, dict(message))
        if "error" in reply:
            raise ClusterError(f"cluster {self.name}: {reply['error']}")
        return reply

    def describe(self) -> dict[str, Any]:
        return self.ask({"do": "describe"})

    def note(self, kind: str, key: str, value: Any) -> None:
        """Stores a value in the cluster, for later commands, until the cluster ends. None removes it."""
        self.ask({"do": "note", "kind": kind, "key": key, "value": value})

    def noted(self, kind: str) -> dict[str, Any]:
        """The stored values by key, the oldest first."""
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
        raise ClusterError(f"no node is called '{name}'; choose one of {', '.join(host.name for host in self.hosts)}")

    def ended(self) -> list[str]:
        """Nodes whose first process was killed. No program can be started on them any more."""
        return list(self.describe()["ended"])

    def run(self, node: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Runs a command in the foreground, with this process's standard streams. Returns its exit status."""
        self.refuse_empty_command(node, command)
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
        """Runs a command on a node and returns its output. A command that takes too long is ended, and TimeoutError is raised.
        Without `directory` it runs in this process's directory; a node without that directory takes its folder for temporary
        files."""
        self.refuse_empty_command(node, command)
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

    def refuse_empty_command(self, node: str, command: Sequence[str]) -> None:
        self.host(node)
        if not command or command == ["--"]:
            raise ClusterError(f"{node}: no command is given: write it after the node's name")

    def on(self, node: str, *command: str, timeout_s: float | None = 60, **environment: str) -> str:
        """Returns what the command prints. Raises ClusterError when it fails."""
        done = self.try_on(node, command, timeout_s=timeout_s, **environment)
        if done.status != 0:
            printed = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise ClusterError(f"{node}: `{' '.join(command)}` ended with status {done.status}: {printed}")
        return done.stdout

    def shell(self, node: str, script: str, timeout_s: float | None = 60) -> str:
        return self.on(node, "/bin/sh", "-ec", script, timeout_s=timeout_s)

    def write(self, node: str, path: str, text: str) -> None:
        """Writes a file on the node. In the shared folder it is on all nodes."""
        self.on(node, "/bin/sh", "-ec", 'mkdir -p "$(dirname "$0")"; printf %s "$1" > "$0"', path, text)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """This process's environment with the variables of the cluster's services."""
        slurm = f"{SHARED}/slurm/slurm.conf"
        return {**os.environ, "SLURM_CONF": slurm, **(extra or {})}

    # ---- links and disks ---------------------------------------------------------------------------------------------------------

    def links(self) -> dict[str, Link]:
        known = self.describe()["links"]
        return {host.name: Link(**known.get(host.name, {})) for host in self.hosts}

    def set_link(self, node: str, **changes: Any) -> Link:
        """Changes delay_us, rate_mbit or cut; the others stay as they are."""
        self.host(node)
        link = dataclasses.replace(self.links()[node], **changes)
        check_link(link)
        if link.delay_us > 0 and self.network_kind == "kernel" and not self.describe()["network"].get("netem"):
            remedy = f"`tailrace cluster down -c {self.name}`, then `tailrace cluster up -c {self.name} --network user`"
            raise NotPossible(f"{node}: this kernel has no netem, so the kernel's network cannot delay packets: {remedy}")
        self.ask({"do": "link", "node": node, "changes": changes})
        return link

    def limit_disk(self, node: str, bytes_per_s: int) -> None:
        """Limits the bytes a second each way between the node's programs and its disk, which must be an image. 0: no limit."""
        self.host(node)
        if not self.spec.images:
            raise ClusterError(
                f"{node}: its disk is memory, which cannot be slow: `tailrace cluster up --images FOLDER` makes disks of ext4"
            )
        if 0 < bytes_per_s < LEAST_RATE:
            raise ClusterError(f"{node}: {bytes_per_s} bytes a second: give {LEAST_RATE} or more, or 0 for no limit")
        if not is_node() and (reason := throttle.why_not()):  # a node does not see the control groups that the supervisor uses
            raise NotPossible(f"disks cannot be limited here: {reason}")
        self.ask({"do": "limit disk", "node": node, "bytes_per_s": bytes_per_s})
        # Otherwise the kernel's own threads write the programs' data later, and no limit applies to those threads.
        mode = "sync" if bytes_per_s else "async"
        self.on(node, "mount", "-o", f"remount,{mode}", SCRATCH)
        self.note(DISKS, node, bytes_per_s or None)

    def slow_disks(self) -> dict[str, int]:
        """Nodes with limited disks, and their bytes a second."""
        return self.noted(DISKS)

    # ---- the end -----------------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Ends the cluster. Returns when no process of it is left."""
        with self.connect() as end:
            keeper, _ = wire.peer_of(end)
            watched = os.pidfd_open(keeper) if keeper else None
            wire.send(end, {"do": "end"})
            if watched is not None:
                ended = select.select([watched], [], [], END_S)[0]
                os.close(watched)
                if not ended:
                    raise ClusterError(
                        f"cluster {self.name}: process {keeper} has not ended after {END_S:g} s; end it with `kill -9 {keeper}`"
                    )
        throttle.sweep(self.name)


def is_node() -> bool:
    """Whether this process is on a node of a cluster. Its commands reach that cluster, under any name."""
    return os.path.exists(DOOR)


def names_up() -> list[str]:
    """Names of the clusters that are up. On a node of a cluster, only that one."""
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
    """Removes the control groups of clusters whose keeper was killed, and which have ended."""
    for name in throttle.clusters_with_groups() - set(names_up()):
        throttle.sweep(name)


def each(action: Callable[[str], T], nodes: Iterable[str]) -> list[T]:
    """Runs the action for all nodes at once. Raises the first error after all have ended."""
    names = list(nodes)
    with ThreadPoolExecutor(max_workers=max(1, min(16, len(names)))) as pool:
        return list(pool.map(action, names))
