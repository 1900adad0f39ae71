"""Names, addresses and tables of a cluster. Pure: from its specification alone."""

from __future__ import annotations

import dataclasses
from typing import Any

from tailrace.cluster.values import COMPUTE, LOGIN, META, STORE, ClusterSpec, Host

# Each cluster has a network namespace of its own, so all clusters use the same addresses.
NETWORK = "10.77"
MEMORY_BYTES = 4 << 30  # the limit of /dev/shm on each node


def hosts_of(spec: ClusterSpec, has_servers: bool, has_metadata_server: bool) -> tuple[Host, ...]:
    hosts = [Host(LOGIN, LOGIN, f"{NETWORK}.0.1")]
    if has_metadata_server:
        hosts.append(Host(META, META, f"{NETWORK}.0.2"))
    if has_servers:
        hosts += [Host(f"{STORE}{number}", STORE, f"{NETWORK}.1.{number}") for number in range(1, spec.servers + 1)]
    hosts += [Host(f"n{number}", COMPUTE, f"{NETWORK}.2.{number}") for number in range(1, spec.nodes + 1)]
    return tuple(hosts)


def hosts_table(hosts: tuple[Host, ...]) -> str:
    return "127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in hosts)


def described(spec: ClusterSpec, hosts: tuple[Host, ...], network: dict[str, str], agent: str) -> dict[str, Any]:
    """The description of the cluster for its supervisor."""
    disk = {"bytes": spec.disk_bytes, "folder": spec.images}
    link = dataclasses.asdict(spec.links)
    return {
        "name": spec.name,
        "spec": spec.to_json(),
        "hosts": [{**dataclasses.asdict(host), "disk": disk, "memory_bytes": MEMORY_BYTES} for host in hosts],
        "hosts_table": hosts_table(hosts),
        "network": network,
        "links": {host.name: link for host in hosts} if spec.links.delay_us or spec.links.rate_mbit else {},
        "agent": agent,
    }
