"""tailrace cluster status: the clusters that are up, or one of them in full."""

from __future__ import annotations

import dataclasses
from typing import Any

import typer

from tailrace.cli import output
from tailrace.cli.cluster.choices import DEFAULT, TheCluster
from tailrace.cluster import faults, loads
from tailrace.cluster.cluster import Cluster, is_node, names_up, sweep_ended


def command(cluster: TheCluster = DEFAULT, as_json: output.AsJson = False) -> None:
    """Shows a cluster: its nodes, their links, faults and loads; and the names of other clusters that are up.

    The exit status is 1 when the cluster is not up.

    Examples: [bold]tailrace cluster status[/] · [bold]tailrace cluster status -c drill --json[/]
    """
    sweep_ended()
    names = names_up()
    if is_node():
        cluster = names[0] if names else cluster
    if cluster not in names:
        if as_json:
            output.print_json({"up": names, "cluster": None})
        else:
            output.console().print(output.escape(f"cluster {cluster} is not up; up: {', '.join(names) or 'none'}"))
        raise typer.Exit(1)
    found = Cluster(cluster)
    if as_json:
        output.print_json({"up": names, "cluster": describe(found)})
        return
    print_cluster(found)
    if len(names) > 1:
        output.console().print(output.escape(f"also up: {', '.join(name for name in names if name != cluster)}"))


def describe(cluster: Cluster) -> dict[str, Any]:
    links = cluster.links()
    now = cluster.describe()
    nodes = [
        {**dataclasses.asdict(host), "link": dataclasses.asdict(links[host.name]), "ended": host.name in now["ended"]}
        for host in cluster.hosts
    ]
    described = {"name": cluster.name, "spec": cluster.spec.to_json(), "network": cluster.network_kind, "nodes": nodes}
    described["switch_ended"] = now["switch_ended"]
    state = {"faults": faults.active(cluster), "loads": dict(loads.running(cluster)), "slow_disks": cluster.slow_disks()}
    return {**described, **state}


def print_cluster(cluster: Cluster) -> None:
    spec, links = cluster.spec, cluster.links()
    console = output.console()
    disks = f"images in {spec.images}" if spec.images else "memory"
    now = cluster.describe()
    network = f"network: {cluster.network_kind}" + (", [red]its switch has ended[/]" if now["switch_ended"] else "")
    parts = [spec.file_system, *(["Slurm"] if spec.slurm else []), network]
    console.print(
        f"[bold]{output.escape(cluster.name)}[/]  {', '.join(parts)}; disks of {output.bytes_text(spec.disk_bytes)}, {disks}"
    )
    shown = output.table("node", "role", "address", "delay us", "Mbit/s", "", numbers=("delay us", "Mbit/s"))
    active = faults.active(cluster)
    running = loads.running(cluster)
    slow_disks = cluster.slow_disks()
    for host in cluster.hosts:
        link = links[host.name]
        notes = ["[red]has ended[/]"] if host.name in now["ended"] else []
        notes += [fault for fault, node in active if node == host.name]
        if host.name in slow_disks:
            notes.append(f"disk: {output.bytes_text(slow_disks[host.name])}/s")
        if host.name in running:
            load = running[host.name]
            rate = f"{load['mib_per_s']:g} MiB/s" if load["mib_per_s"] else "no limit"
            notes.append(f"{load['load']} on {load['target']}, {load['jobs']} jobs, {rate}")
        rate_text = f"{link.rate_mbit:g}" if link.rate_mbit else "no limit"
        shown.add_row(host.name, host.role, host.address, f"{link.delay_us:g}", rate_text, "; ".join(notes))
    console.print(shown)
