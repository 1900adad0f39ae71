"""tailrace cluster up: makes a cluster."""

from __future__ import annotations

import select
import signal
import socket
import time
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster, parse_bytes
from tailrace.cli.cluster.status import describe, print_cluster
from tailrace.cluster import launch
from tailrace.cluster.filesystems import FILE_SYSTEMS
from tailrace.cluster.values import NETWORKS, ClusterSpec, Link

SIGNAL_POLL_S = 0.2
FILE_SYSTEM_NAMES = ", ".join(FILE_SYSTEMS)


def command(
    cluster: TheCluster = DEFAULT,
    nodes: Annotated[int, typer.Option("--nodes", "-n", help="Compute nodes: n1, n2, ...")] = 4,
    servers: Annotated[int, typer.Option("--servers", help="Servers that store data: store1, store2, ...")] = 3,
    file_system: Annotated[
        str, typer.Option("--file-system", "-f", help=f"File system at /mnt/pfs: {FILE_SYSTEM_NAMES}.")
    ] = "moosefs",
    slurm: Annotated[bool, typer.Option("--slurm", help="Start Slurm: slurmctld on login, slurmd on each compute node.")] = False,
    slots: Annotated[int, typer.Option("--slots", help="Most ranks of a node.")] = 4,
    disk: Annotated[str, typer.Option("--disk", metavar="BYTES", help="Size of each node's disk, at /mnt/scratch.")] = "4G",
    images: Annotated[
        str,
        typer.Option(
            "--images",
            metavar="FOLDER",
            help="Folder for disk images (ext4), whose speed can be limited. Without it, the disks are in memory.",
        ),
    ] = "",
    network: Annotated[
        str,
        typer.Option("--network", help=f"What forwards packets: {', '.join(NETWORKS)}; `user` can delay packets on any kernel."),
    ] = "auto",
    delay_us: Annotated[
        float,
        typer.Option(
            "--delay-us",
            help="Delay of every link in each direction, in microseconds. A message between two nodes passes two links.",
        ),
    ] = 0,
    rate_mbit: Annotated[
        float, typer.Option("--rate-mbit", help="Rate of every link in each direction, in Mbit/s; 0: no limit.")
    ] = 0,
    hold: Annotated[bool, typer.Option("--hold", help="Stay in the foreground: the cluster ends with this command.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Makes a cluster in seconds: nodes with a network, host name, processes and mounts of their own.

    Nodes are login, the compute nodes, and the servers of the file system: meta (MooseFS), store1, store2, ... If the machine
    lacks something, the command names it with its remedy, and removes what it has made.

    Examples: [bold]tailrace cluster up[/] · [bold]tailrace cluster up -c drill --nodes 2 --slurm[/] ·
    [bold]tailrace cluster up --file-system glusterfs[/] · [bold]tailrace cluster up --delay-us 100 --rate-mbit 1000[/] ·
    [bold]tailrace cluster up --images /var/tmp --disk 8G[/]
    """
    spec = ClusterSpec(
        cluster, nodes, servers, file_system, slurm, slots, parse_bytes(disk), images, network, Link(delay_us, rate_mbit)
    )
    began_s = time.monotonic()
    with output.error_console().status(f"cluster {spec.name}") as status:
        held = launch.launch(spec, lambda text: status.update(f"cluster {spec.name}: {text}"))
    if not hold:
        held.release()
    if as_json:
        output.print_json({**describe(held.cluster), "seconds": round(time.monotonic() - began_s, 3)})
    else:
        print_cluster(held.cluster)
        output.console().print(f"up after {time.monotonic() - began_s:.1f} s")
    if hold:
        _wait(held.line)
        held.end()


def _wait(line: socket.socket) -> None:
    """Returns on a signal, or when the cluster has ended. When this process is killed, the kernel closes the connection, and the
    cluster ends."""
    received: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signaled, frame: received.append(signaled))
    while not received and not select.select([line], [], [], SIGNAL_POLL_S)[0]:
        pass
