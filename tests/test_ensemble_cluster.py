"""Ensembles on two nodes of a cluster with Slurm: each engine uses both, and every way of failing has its reason."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from tailrace.cluster import Cluster
from tailrace.cluster.inside.paths import SCRATCH
from tailrace.cluster.ranks import SHELL
from tailrace.launch import nodes
from tailrace.launch.mpi import MPIS

from tests.clusters import NewCluster
from tests.ensembles import compare, table_of, write_ensemble
from tests.environment import HANGS_S

WAYS = ["good", "exit", "late", "missing", "good", "daemon", "hang", "stars", "signal", "good", "many", "empty"]
WAYS += ["good"] * 8 + ["late"] * 4
NODES = {"n1", "n2"}
PORT = 8786  # of Dask's scheduler


@pytest.fixture(scope="module")
def cluster(new_cluster: NewCluster) -> Cluster:
    return new_cluster(nodes=2, file_system="none", slurm=True)


def job(engine: str, ensemble: list[str]) -> list[str]:
    """The words after `salloc`: what a user has in the script of a job."""
    run = [*ensemble, "--engine", engine]
    if engine == "mpi":
        ranks = [("login", 1), ("n1", 2), ("n2", 2)]  # rank 0 is the parent
        python, *words = run
        return nodes.mpirun_command(MPIS["openmpi"], ranks, SHELL, {}, [python, "-m", "mpi4py.futures", *words])
    if engine == "dask":
        scheduler = shlex.join([sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(PORT), "--no-dashboard"])
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", f"login:{PORT}", "--nworkers", "2", "--nthreads", "1"]
        workers = shlex.join(["srun", *worker, "--no-dashboard", "--local-directory", SCRATCH])
        address = f"DASK_SCHEDULER_ADDRESS=login:{PORT}"
        return [
            "sh",
            "-c",
            f"{scheduler} 2>scheduler & {workers} 2>workers & env {address} {shlex.join(run)}; code=$?; kill %1; exit $code",
        ]
    return run


@pytest.mark.parametrize(
    "engine", ["mpi", pytest.param("dask", marks=pytest.mark.full), pytest.param("parsl", marks=pytest.mark.full)]
)
def test_every_engine_uses_both_nodes(cluster: Cluster, tmp_path: Path, engine: str) -> None:
    path = write_ensemble(tmp_path, WAYS)
    path.write_text(path.read_text().replace(str(tmp_path / "scratch"), SCRATCH))
    ensemble = [sys.executable, "-m", "tailrace", "ensemble", "run", str(path)]
    allocated = ["salloc", "-N", "2", "--ntasks-per-node=1", "-Q", *job(engine, ensemble)]
    environment = {name: value for mpi in MPIS.values() for name, value in mpi.root_environment.items()}
    done = cluster.try_on("login", allocated, timeout_s=HANGS_S, directory=str(tmp_path), **environment)
    assert done.status == 1, done.stdout + done.stderr  # members have failed
    out = tmp_path / "nasty-ensemble"
    compare(out, WAYS)
    assert {row["host"] for row in table_of(out).values()} == NODES
    assert not list(out.glob("parsl-*"))
    for node in NODES if engine != "parsl" else ():  # Slurm kills Parsl's workers with the job; the next run there removes it
        assert cluster.shell(node, f"ls {SCRATCH} | grep tailrace-ensemble | xargs -I@ ls {SCRATCH}/@").split() == []
