"""Programs on the nodes of a cluster, recorded: where each rank was, what it did to the shared file system, who came last."""

from __future__ import annotations

from pathlib import Path

import pytest
from tailrace.cluster import Cluster
from tailrace.trace.log import read_run
from tailrace.trace.phases import phases_of

from tests.clusters import NewCluster
from tests.mpirun import run_within

RANKS = 8
NODES = {0: "n1", 1: "n1", 2: "n2", 3: "n2", 4: "n3", 5: "n3", 6: "n4", 7: "n4"}


@pytest.fixture(scope="module")
def cluster(new_cluster: NewCluster) -> Cluster:
    return new_cluster(slurm=True)


@pytest.mark.parametrize("how", ["openmpi", "mpich", "slurm"])
def test_ranks_on_nodes_are_recorded(
    cluster: Cluster, build_dir: Path, tailrace_command: list[str], tmp_path: Path, how: str
) -> None:
    folder = f"/mnt/pfs/recorded-{how}"
    program = build_dir / ("mpich/tests" if how == "mpich" else "tests") / "phase_case"
    launch = ["cluster", "run", "-c", cluster.name, "--ranks", str(RANKS), *(["--slurm"] if how == "slurm" else ["--mpi", how])]
    assert cluster.try_on("n1", ["mkdir", folder]).status == 0
    record = [*tailrace_command, "run", "--log", str(tmp_path / "logs"), "--"]
    finished = run_within([*record, *tailrace_command, *launch, str(program), folder])
    assert finished.returncode == 0, finished.output
    logs, damaged = read_run(tmp_path / "logs")
    assert not damaged
    ranks = {int(log.header["rank"]): log for log in logs if log.header["rank"] >= 0 and Path(log.header["program"]) == program}
    assert {rank: log.header["host"] for rank, log in ranks.items()} == NODES
    for rank, log in ranks.items():
        assert f"{folder}/rank.{rank}" in log.names.values()
    phases = {phase.name: phase for phase in phases_of(logs).phases}
    assert (phases["8exec"].last_ranks, phases["9write"].last_ranks) == ({1: 1}, {2: 1})
    assert phases["9write"].late_by_io_s > 0.5 * phases["9write"].sync_s
