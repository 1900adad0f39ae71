"""Starts a cluster: its supervisor first, then the services on its nodes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tailrace.cluster import check, plan, programs
from tailrace.cluster.cluster import END_S, Cluster, sweep_ended
from tailrace.cluster.filesystems import file_system_of
from tailrace.cluster.inside import wire
from tailrace.cluster.inside.paths import DOOR
from tailrace.cluster.services import start_services
from tailrace.cluster.values import AUTO, KERNEL, USER, ClusterError, ClusterSpec

INSIDE = Path(__file__).resolve().parent
# In an interpreter of its own, without this package: a process that lives as long as the cluster should be small.
BOOT = f"import sys; sys.path[:0] = [{str(INSIDE)!r}]; from inside import supervisor; supervisor.main()"
REMOTE_SHELL = f"import sys; sys.path[:0] = [{str(INSIDE)!r}]; from inside import agent; sys.exit(agent.main())"
AGENT = f"""#!/bin/sh
# Starts a command on another node of this cluster: AGENT NODE COMMAND...
exec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(REMOTE_SHELL)} "$@"
"""


@dataclasses.dataclass
class HeldCluster:
    """A cluster and its connection to this process. The cluster ends when the connection is closed, unless it was released. The
    kernel closes the connection when this process ends in any way."""

    cluster: Cluster
    line: socket.socket
    keeper: subprocess.Popen[bytes]

    def release(self) -> None:
        """The cluster stays up when this process ends."""
        wire.ask(self.line, {"do": "stay"})
        self.line.close()

    def end(self) -> None:
        try:
            with contextlib.suppress(ClusterError, OSError):  # it has ended by itself, or is ending
                self.cluster.end()
        finally:
            self.line.close()
            self.keeper.wait(END_S)


def network_for(spec: ClusterSpec) -> dict[str, str]:
    netem = check.has_netem()
    kind = spec.network
    if kind == AUTO:
        kind = USER if spec.links.delay_us > 0 and not netem else KERNEL
    if kind == USER:
        return {"kind": USER, "switch": programs.switch()}
    return {"kind": KERNEL, "netem": "yes" if netem else ""}


def launch(spec: ClusterSpec, on_progress: Callable[[str], None] = lambda text: None) -> HeldCluster:
    """Starts a cluster that ends with this process. Raises ClusterError where something is missing or does not start; then nothing
    of the cluster is left. `on_progress` gets the name of each stage."""
    if os.path.exists(DOOR):
        raise ClusterError(
            "this is a node of a cluster, whose commands reach only that cluster: run `tailrace cluster up` on the machine itself"
        )
    sweep_ended()
    check.refuse_missing(spec)
    file_system = file_system_of(spec)
    hosts = plan.hosts_of(spec, has_servers=file_system.has_servers, has_metadata_server=file_system.has_metadata_server)
    if spec.images:
        spec = dataclasses.replace(spec, images=str(Path(spec.images).resolve()))
    described = plan.described(spec, hosts, network_for(spec), AGENT)
    ours, theirs = wire.pair()
    on_progress(f"{len(hosts)} nodes")
    with theirs, tempfile.TemporaryFile() as messages:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BOOT, str(theirs.fileno()), f"tailrace cluster {spec.name}"],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            cwd="/",
            start_new_session=True,
        )
        theirs.close()
        try:
            reply = wire.ask(ours, described)
            if "error" in reply:
                messages.seek(0)
                printed = messages.read().decode(errors="replace").strip()
                raise ClusterError(_reason(spec, reply) + (f"\n{printed[-2000:]}" if printed else ""))
            cluster = Cluster(spec.name)
            start_services(cluster, on_progress)
        except BaseException:
            ours.close()
            keeper.wait(END_S)
            raise
    return HeldCluster(cluster, ours, keeper)


def _reason(spec: ClusterSpec, reply: Mapping[str, Any]) -> str:
    if reply.get("is_up"):
        end = f"`tailrace cluster down -c {spec.name}`"
        return f"a cluster '{spec.name}' is up: use it, end it with {end}, or give another name with -c"
    return f"cluster {spec.name} did not start: {reply['error']}"


@contextlib.contextmanager
def up(spec: ClusterSpec) -> Iterator[Cluster]:
    """A cluster for as long as the block runs. It also ends when this process is killed."""
    held = launch(spec)
    try:
        yield held.cluster
    finally:
        held.end()


def up_to_stay(spec: ClusterSpec, on_progress: Callable[[str], None] = lambda text: None) -> Cluster:
    """A cluster that stays when this process ends, until `tailrace cluster down`."""
    held = launch(spec, on_progress)
    held.release()
    return held.cluster
