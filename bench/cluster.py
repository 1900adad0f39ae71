"""Measures a cluster on this machine: its links, its file system on 1 to 4 nodes, and the presets on it.

    make bench NAME=cluster [SIZE=quick|full]

docs/benchmarks.md describes what is measured and how to read it, docs/cluster.md what such figures show. bench/bounds.toml has the
bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from tailrace.cluster import Cluster, ClusterError, ClusterSpec, up
from tailrace.cluster.ranks import Ranks, command_for

from bench import harness
from bench.harness import BenchError, Claim, console

PRESETS = {name: f"layout = '{name}'" for name in ("single", "fpp", "hds", "shared", "split:2", "node", "collective")}
# For small outputs, also layouts with many steps in a file.
MANY_STEPS = {"fpp, 100 steps": "layout = 'fpp'\nsteps = 100", "single, all steps": "layout = 'single'\nsteps = 'all'"}
NODES, RANKS_PER_NODE = 4, 2
RANKS = NODES * RANKS_PER_NODE
PORT = 7000
LIMIT_S = 300.0  # of one run, which may write for 90 s before it reads back


@dataclasses.dataclass(frozen=True)
class Target:
    """A folder to write to, over links with these properties. The delay is from node to node, half of it on each link."""

    name: str
    folder: str
    delay_us: float = 0.0
    rate_mbit: float = 0.0


TARGETS = (
    Target("scratch", "/mnt/scratch/bench"),
    Target("MooseFS", "/mnt/pfs/bench"),
    Target("MooseFS, 0.2 ms", "/mnt/pfs/bench", delay_us=200),
    Target("MooseFS, 1 ms", "/mnt/pfs/bench", delay_us=1000),
    Target("MooseFS, 1 Gbit/s", "/mnt/pfs/bench", rate_mbit=1000),
)
# The requested delays and rates of a link, one at a time.
DELAYS_US = (100.0, 500.0, 2000.0)
DELAY_ROUNDS = 5
RATES_MBIT = (100.0, 1000.0)


@dataclasses.dataclass(frozen=True)
class Workload:
    """Steps of arrays of `kib` KiB a rank."""

    text: str
    steps: int
    arrays: int
    kib: int
    seconds: int  # after which no step begins; then the claim that all steps are made does not hold
    layouts: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Size:
    nodes: tuple[int, ...]
    files: int  # a rank
    mib: int
    large: Workload
    small: Workload
    repetitions: int


SIZES = {
    "quick": Size(
        (1, 4),
        200,
        16,
        Workload("large arrays", 2, 4, 2048, 20, PRESETS),
        Workload("2,000 small outputs", 250, 1, 16, 30, PRESETS | MANY_STEPS),
        1,
    ),
    "full": Size(
        (1, 2, 3, 4),
        300,
        32,
        Workload("large arrays", 2, 4, 4096, 20, PRESETS),
        Workload("20,000 small outputs", 2500, 1, 16, 90, PRESETS | MANY_STEPS),
        2,
    ),
}


def run(cluster: Cluster, ranks: int, nodes: Sequence[str], arguments: dict[str, Any]) -> dict[str, Any]:
    words = [
        str(harness.program("bench_cluster")),
        *(str(word) for key, value in arguments.items() for word in (f"--{key}", value)),
    ]
    command, environment = command_for(cluster, words, Ranks(ranks, nodes, slots=ranks))
    try:
        done = cluster.try_on("login", command, timeout_s=LIMIT_S, **harness.mpi_environment(environment))
    except TimeoutError as error:
        raise BenchError(str(error)) from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.status != 0 or len(lines) != 1:
        raise BenchError(f"{' '.join(command)}\nended with status {done.status}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return dict(json.loads(lines[0]))


def set_links(cluster: Cluster, delay_us: float, rate_mbit: float) -> None:
    for host in cluster.hosts:
        cluster.set_link(host.name, delay_us=delay_us / 2, rate_mbit=rate_mbit)


# ---- links ---------------------------------------------------------------------------------------------------------------------


def round_trip_us(cluster: Cluster) -> float:
    """The median of 200 round trips."""
    shown = cluster.on("n1", "ping", "-c", "200", "-i", "0.005", "n2")
    return statistics.median(float(text) for text in re.findall(r"time=([\d.]+) ms", shown)) * 1000


RECEIVE = f"""
import socket, time
server = socket.create_server(("", {PORT}))
print("there", flush=True)
connection, _ = server.accept()
first = connection.recv(1 << 20)
began = time.monotonic()
count = 0
while got := connection.recv(1 << 20):
    count += len(got)
print(count * 8 / (time.monotonic() - began) / 1e6)
"""
SEND = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
until = time.monotonic() + float(sys.argv[3])
piece = bytes(1 << 18)
while time.monotonic() < until:
    connection.sendall(piece)
"""


def stream_mbit(cluster: Cluster, seconds: float) -> float:
    """The rate of one connection: payload, so a little less than the link's rate."""
    cluster.shell("n2", f"rm -f /run/received; setsid python3 -c '{RECEIVE}' > /run/received 2>&1 &")
    cluster.shell("n2", "until grep -q there /run/received; do sleep 0.05; done")
    cluster.on("n1", "python3", "-c", SEND, "n2", str(PORT), str(seconds), timeout_s=60)
    cluster.shell("n2", "until [ $(wc -l < /run/received) -ge 2 ]; do sleep 0.05; done")
    return float(cluster.shell("n2", "cat /run/received").split()[-1])


def measure_delays(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Measures with and without delay in turns, because the time to wake a process up changes from one second to the next."""
    without_us: list[float] = []
    added_us: dict[float, list[float]] = {delay_us: [] for delay_us in DELAYS_US}
    for _, delay_us in itertools.product(range(DELAY_ROUNDS), DELAYS_US):
        set_links(cluster, 0, 0)
        without_us.append(round_trip_us(cluster))
        for node in ("n1", "n2"):
            cluster.set_link(node, delay_us=delay_us)
        added_us[delay_us].append((round_trip_us(cluster) - without_us[-1]) / 4)  # each of the two links, there and back
    set_links(cluster, 0, 0)
    yield {"what": "link", "quantity": "round trip without delay, us", "measured": statistics.median(without_us)}
    for delay_us, measured in added_us.items():
        yield {
            "what": "link",
            "quantity": "delay, us",
            "requested": delay_us,
            "measured": statistics.median(measured),
            "rounds": measured,
        }


def measure_links(cluster: Cluster) -> Iterator[dict[str, Any]]:
    yield from measure_delays(cluster)
    yield {"what": "link", "quantity": "rate without limit, Mbit/s", "measured": stream_mbit(cluster, 1.0)}
    for rate_mbit in RATES_MBIT:
        cluster.set_link("n1", rate_mbit=rate_mbit)
        yield {"what": "link", "quantity": "rate, Mbit/s", "requested": rate_mbit, "measured": stream_mbit(cluster, 2.0)}
    set_links(cluster, 0, 0)


def claims_of(rows: Sequence[dict[str, Any]]) -> list[Claim]:
    """The distance of each link from its requested value, in parts of the bound. Too much and too little are one distance."""
    wanted = {claim["id"]: claim for claim in harness.bounds("cluster")["claims"]}
    claims = []
    for row in rows:
        if row["what"] == "link" and "requested" in row:
            claim = wanted[row["quantity"].split(",")[0]]
            ratio = row["measured"] / row["requested"]
            where = f"{claim['id']}/{row['network']}/{row['requested']:g}"
            detail = {"against": f"measured {row['measured']:.1f}, requested {row['requested']:g}"}
            distance = max(claim["least"] / ratio, ratio / claim["most"]) if ratio > 0 else float("inf")
            claims.append(Claim(where, claim["text"], distance, 1.0, "of the bound", detail, at_most=True))
    outputs = [row for row in rows if row["what"] == "outputs"]
    for workload in dict.fromkeys(row["workload"] for row in outputs):
        claim = wanted["outputs"]
        least = min((row for row in outputs if row["workload"] == workload), key=lambda row: row["steps"] / row["steps_requested"])
        detail = {"against": f"{least['steps']} of {least['steps_requested']} steps, {least['layout']}"}
        missing = least["steps_requested"] / max(1, least["steps"])
        claims.append(Claim(f"outputs/{workload}", claim["text"], missing, claim["most"], "of the bound", detail, at_most=True))
    return claims


# ---- the file system -----------------------------------------------------------------------------------------------------------


def measure_storage(cluster: Cluster, size: Size) -> Iterator[dict[str, Any]]:
    for target in TARGETS:
        set_links(cluster, target.delay_us, target.rate_mbit)
        for count in size.nodes:
            nodes = cluster.compute_nodes[:count]
            slow = target.delay_us + target.rate_mbit > 0
            arguments = {"what": "storage", "directory": target.folder, "shared": int(target.name != "scratch")}
            arguments |= {"files": size.files // (4 if slow else 1), "mib": size.mib // (2 if slow else 1)}
            row = run(cluster, count * RANKS_PER_NODE, nodes, arguments)
            yield {"what": "storage", "target": target.name, "nodes": count, "ranks": count * RANKS_PER_NODE, **row}
    set_links(cluster, 0, 0)


def print_storage(rows: Sequence[dict[str, Any]], size: Size) -> None:
    quantities = {
        "creates_per_s": "creates/s",
        "stats_per_s": "stats/s",
        "write_mib_per_s": "write+fsync MiB/s",
        "read_mib_per_s": "read MiB/s",
    }
    for key, heading in quantities.items():
        table = Table(title=f"{heading}, {RANKS_PER_NODE} ranks a node", title_justify="left")
        for column in ("target", *(f"{count} nodes" for count in size.nodes)):
            table.add_column(column, justify="left" if column == "target" else "right")
        for target in TARGETS:
            found = {row["nodes"]: row[key] for row in rows if row["what"] == "storage" and row["target"] == target.name}
            table.add_row(target.name, *(f"{found[count]:,.0f}" for count in size.nodes))
        console.print(table)


# ---- the presets ---------------------------------------------------------------------------------------------------------------


def measure_presets(cluster: Cluster, workload: Workload, repetitions: int) -> Iterator[dict[str, Any]]:
    """The order rotates from one repetition to the next."""
    names = list(workload.layouts)
    for repetition in range(repetitions):
        for position in range(len(names)):
            name = names[(position + repetition) % len(names)]
            folder = f"/mnt/pfs/outputs-{re.sub('[^a-z0-9]+', '-', name)}"
            arguments = {"what": "outputs", "directory": folder, "options": workload.layouts[name], "steps": workload.steps}
            arguments |= {"arrays": workload.arrays, "kib": workload.kib, "seconds": workload.seconds}
            row = run(cluster, RANKS, cluster.compute_nodes, arguments)
            # Counted while they are removed, because listing many files takes time, too.
            files = int(cluster.shell("n1", f"find {folder} -type f -print -delete | wc -l; rm -rf {folder}", timeout_s=120))
            of = {"workload": workload.text, "layout": name, "repetition": repetition, "steps_requested": workload.steps}
            yield {"what": "outputs", **of, "files": files, **row}


def print_presets(rows: Sequence[dict[str, Any]], workload: Workload) -> None:
    found = [row for row in rows if row["what"] == "outputs" and row["workload"] == workload.text]
    shape = f"{workload.steps} steps, {workload.arrays} arrays of {workload.kib} KiB a rank"
    table = Table(title=f"{workload.text}: {shape}; {RANKS} ranks on {NODES} nodes, no added delay", title_justify="left")
    for column in ("layout", "MiB/s", "outputs/s", "least..most s", "steps", "files", "read back s"):
        table.add_column(column, justify="left" if column == "layout" else "right")
    speeds: dict[str, float] = {}
    for preset in workload.layouts:
        of = [row for row in found if row["layout"] == preset]
        seconds = sorted(row["seconds"] for row in of)
        speeds[preset] = statistics.median(row["outputs_per_s"] for row in of)
        cells = [f"{statistics.median(row['mib_per_s'] for row in of):.1f}", f"{speeds[preset]:.0f}"]
        cells += [f"{seconds[0]:.2f}..{seconds[-1]:.2f}", str(of[0]["steps"]), str(of[0]["files"])]
        table.add_row(preset, *map(str, cells), f"{statistics.median(row['read_seconds'] for row in of):.1f}")
    console.print(table)
    best = max(speeds, key=lambda preset: speeds[preset])
    console.print(f"fastest for {workload.text}: [bold]{best}[/bold]")
    short = sorted({row["layout"] for row in found if row["steps"] < workload.steps})
    if short:
        console.print(f"not all {workload.steps} steps within {workload.seconds} s; figures of fewer steps: {', '.join(short)}")


def measure(size: Size) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for network in ("kernel", "user"):
        with up(ClusterSpec("bench-links", nodes=2, file_system="none", network=network)) as cluster:
            if network == "kernel" and not cluster.describe()["network"]["netem"]:
                for rate_mbit in RATES_MBIT:
                    cluster.set_link("n1", rate_mbit=rate_mbit)
                    link = {
                        "what": "link",
                        "quantity": "rate, Mbit/s",
                        "requested": rate_mbit,
                        "measured": stream_mbit(cluster, 2.0),
                    }
                    rows.append({"network": network, **link})
            else:
                rows += [{"network": network, **row} for row in measure_links(cluster)]
    table = Table(title="links", title_justify="left")
    for column in ("network", "", "requested", "measured"):
        table.add_column(column, justify="left" if column in ("network", "") else "right")
    for row in rows:
        table.add_row(
            row["network"], row["quantity"], f"{row['requested']:g}" if "requested" in row else "", f"{row['measured']:.1f}"
        )
    console.print(table)
    with up(ClusterSpec("bench-storage", nodes=NODES, network="user", slots=RANKS)) as cluster:
        rows += measure_storage(cluster, size)
    print_storage(rows, size)
    for workload, repetitions in ((size.large, size.repetitions), (size.small, 1)):
        # A new cluster for each workload: the last one's servers still have files in memory.
        with up(ClusterSpec("bench-presets", nodes=NODES, slots=RANKS)) as cluster:
            rows += measure_presets(cluster, workload, repetitions)
        print_presets(rows, workload)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="quick")
    chosen = parser.parse_args().size
    started = time.monotonic()
    harness.need_memory(8 << 30)
    try:
        rows = measure(SIZES[chosen])
    except ClusterError as error:
        raise BenchError(str(error)) from None
    claims = claims_of(rows)
    harness.print_claims(claims, "Claims (1.00: at the bound; less: nearer to the requested value)")
    record = harness.write_record("cluster", {"size": chosen, **dataclasses.asdict(SIZES[chosen])}, rows, claims)
    console.print(f"every byte read back and checked, in {time.monotonic() - started:.0f} s; {record.relative_to(harness.ROOT)}")
    console.print("All nodes share this machine: docs/cluster.md lists what these figures show and what not.")
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench cluster: {error}")
