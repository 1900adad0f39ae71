"""The race of a simulator with the wrapper that reads its output: how many members of 1,000 are read wrong.

    make bench NAME=race [SIZE=quick|full]

A naive wrapper starts the simulator, waits for it, and reads the output. It is counted beside Tailrace in two cases. A child of the
simulator writes the rest of the output after the simulator has ended; and simulator and reader are on two nodes of a cluster, whose
clients of MooseFS remember for a second that a file was not there. Counts, not times.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from rich.table import Table
from tailrace.cluster import Cluster, ClusterError, ClusterSpec, up
from tailrace.cluster.ranks import Ranks, command_for

from bench import harness
from bench.harness import BenchError, Claim, console, race_members

MEMBERS = {"quick": 100, "full": 1000}
LIMIT_S = 240.0
REMEMBERED_S = 1.0
ON_CLUSTER = "/mnt/pfs"
CASES = {"late child": "a child of the simulator writes late", "two nodes": "the reader is on another node, files on MooseFS"}
Rows = list[dict[str, Any]]


def late_child(members: int) -> Rows:
    """On this node, in a folder for temporary files."""
    with tempfile.TemporaryDirectory() as made:
        naive = race_members.naive(Path(made) / "naive", members)
        folder = Path(made) / "tailrace"
        path = race_members.write_ensemble(folder, race_members.LATE_CHILD, members, "threads", folder / "scratch")
        ours = race_members.tailrace(path, folder / "out", members)
    return [row("late child", "naive", naive), row("late child", "tailrace", ours)]


def two_nodes(members: int) -> Rows:
    """Directories and outputs are on the shared file system, for both."""
    with up(ClusterSpec(f"race-{os.getpid()}", nodes=2, servers=1)) as cluster:
        remember_absence(cluster, REMEMBERED_S)
        return [row("two nodes", how, on_two_nodes(cluster, how, members)) for how in ("naive", "tailrace")]


def remember_absence(cluster: Cluster, seconds: float) -> None:
    """Each node remembers for so long that a name was not there. Clients of NFS do so unasked; MooseFS's must be told."""
    for node in cluster.compute_nodes:
        mount = f"exec mfsmount -H {cluster.host('meta').address} {ON_CLUSTER} -o mfsnice=0,mfsnegentrycacheto={seconds:g}"
        cluster.shell(node, f"umount -l {ON_CLUSTER}; {mount}")


def on_two_nodes(cluster: Cluster, how: str, members: int) -> Counter[str]:
    words = [sys.executable, "-m", "mpi4py.futures", "-m", "bench.harness.race_members", how, f"{ON_CLUSTER}/{how}", str(members)]
    command, environment = command_for(cluster, words, Ranks(2, cluster.compute_nodes))
    environment["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "python")])
    started = harness.mpi_environment(environment)
    done = cluster.try_on("login", command, timeout_s=LIMIT_S, directory=str(harness.ROOT), **started)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.status != 0 or len(lines) != 1:
        raise BenchError(f"{' '.join(command)}\nended with status {done.status}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return Counter(json.loads(lines[0]))


def row(case: str, wrapper: str, found: Counter[str]) -> dict[str, Any]:
    return {"case": case, "wrapper": wrapper, "members": sum(found[kind] for kind in race_members.KINDS), **dict(found)} | {
        kind: found[kind] for kind in race_members.KINDS
    }


def wrong(row: dict[str, Any]) -> int:
    return int(row["members"] - row["right"])


def claims_of(rows: Rows) -> list[Claim]:
    claims = []
    for wanted in harness.bounds("race")["claims"]:
        for one in rows:
            if one["wrapper"] == wanted["id"]:
                claim = Claim(
                    f"{wanted['id']}/{one['case']}", wanted["text"], wrong(one), wanted["bound"], "members", {}, wanted["at_most"]
                )
                claims.append(claim)
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.race", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=MEMBERS, default="quick")
    arguments = parser.parse_args()
    members = MEMBERS[arguments.size]
    settings = {"members": str(members), "file system of the late child": harness.filesystem_of(Path(tempfile.gettempdir()))}
    harness.print_settings("The race of a simulator and its reader", settings)
    rows = late_child(members)
    try:
        rows += two_nodes(members)
    except ClusterError as error:
        console.print(f"Not shown, because there can be no cluster here: {error}")
    table = Table("case", "wrapper", *race_members.KINDS)
    for one in rows:
        table.add_row(CASES[one["case"]], one["wrapper"], *(str(one[kind]) for kind in race_members.KINDS))
    console.print(table)
    for naive, ours in zip(rows[::2], rows[1::2], strict=True):
        counts = f"naive: {wrong(naive)} of {naive['members']:,} wrong or empty; Tailrace: {wrong(ours)} of {ours['members']:,}"
        console.print(f"{CASES[naive['case']]}: {counts}")
    claims = claims_of(rows)
    harness.print_claims(claims, "Claims (members that are read wrong)")
    path = harness.write_record("race", {"size": arguments.size, **settings}, rows, claims)
    console.print(f"{path.relative_to(harness.ROOT)}")
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
