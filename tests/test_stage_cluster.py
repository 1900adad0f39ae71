"""`tailrace run` with [stage] on the nodes of a cluster, by the launchers of Open MPI, MPICH and Slurm: scratch of each node, and
nodes that vanish."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tailrace.cluster import Cluster, faults
from tailrace.cluster.cluster import Done
from tailrace.cluster.inside.paths import SCRATCH
from tailrace.cluster.ranks import SHELL
from tailrace.launch import nodes
from tailrace.launch.mpi import MPIS

from tests.clusters import NewCluster, until
from tests.environment import HANGS_S

RANKS = {"n1": (0, 1), "n2": (2, 3)}
BYTES = 100_000
# Each rank writes two files, and says how many of them are on scratch.
SCRIPT = f"""
import os, sys
rank = int(next(os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID") if name in os.environ))
for part in (0, 1):
    with open(f"out/f.{{rank}}.{{part}}", "wb") as file:
        file.write(bytes((rank * 7 + part + at) % 251 for at in range({BYTES})))
on_scratch = sum(name.startswith(f"f.{{rank}}.") for _, _, names in os.walk("{SCRATCH}") for name in names)
with open(f"seen.{{rank}}", "w") as file:  # launchers mix the lines of ranks
    file.write(f"{{os.uname().nodename}} {{on_scratch}}")
"""


def content(rank: int, part: int) -> bytes:
    return bytes((rank * 7 + part + at) % 251 for at in range(BYTES))


class Run:
    """A folder that all nodes have, and commands on the login node."""

    def __init__(self, cluster: Cluster, top: Path, command: list[str]) -> None:
        self.cluster, self.command = cluster, command
        self.base, self.log = top / "run", top / "log"
        (self.base / "out").mkdir(parents=True)
        (self.base / "tailrace.toml").write_text(f'[stage]\nfiles = ["out/**"]\nscratch = "{SCRATCH}"\nmin_free = "1 B"\n')

    def words(self, how: str, script: str) -> list[str]:
        placed = [(node, len(ranks)) for node, ranks in RANKS.items()]
        run = [*self.command, "run", "--config", str(self.base / "tailrace.toml"), "--log", str(self.log), "--"]
        rank = [sys.executable, "-c", script]
        if how == "slurm":
            return ["salloc", "-N", "2", "--ntasks-per-node=2", "-Q", *run, "srun", *rank]
        return [*run, *nodes.mpirun_command(MPIS[how], placed, SHELL, {}, rank)]

    def environment(self) -> dict[str, str]:
        return {name: value for mpi in MPIS.values() for name, value in mpi.root_environment.items()}

    def on_login(self, words: list[str]) -> Done:
        return self.cluster.try_on("login", words, timeout_s=HANGS_S, directory=str(self.base), **self.environment())

    def has_written(self) -> bool:
        return all((self.base / f"written.{rank}").exists() for rank in range(4))

    def delivered(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((self.base / "out").iterdir())}

    def folders(self, node: str) -> list[str]:
        return self.cluster.shell(node, f"ls -d {SCRATCH}/tailrace-* 2>/dev/null || true").split()


@pytest.fixture(scope="module")
def cluster(new_cluster: NewCluster) -> Cluster:
    return new_cluster(nodes=2, file_system="none", slurm=True)


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path, tailrace_command: list[str]) -> Run:
    return Run(cluster, tmp_path, tailrace_command)


@pytest.mark.parametrize("how", ["openmpi", "slurm", pytest.param("mpich", marks=pytest.mark.full)])
def test_every_launcher_has_scratch_on_each_node(run: Run, how: str) -> None:
    done = run.on_login(run.words(how, SCRIPT))
    assert done.status == 0, done.stderr
    seen = {rank: (run.base / f"seen.{rank}").read_text() for rank in range(4)}
    assert seen == {rank: f"{node} 2" for node, ranks in RANKS.items() for rank in ranks}
    assert run.delivered() == {f"f.{rank}.{part}": content(rank, part) for rank in range(4) for part in (0, 1)}
    assert f"8 files, {8 * BYTES / 1024:.1f} KiB from 2 nodes" in done.stderr
    assert [run.folders(node) for node in ("login", "n1", "n2")] == [[], [], []]


# Rank 0 of one node reads the files of rank 2 of another, when all have closed theirs.
READS = (
    SCRIPT
    + """
import time
open(f"written.{rank}", "w").close()
def wait(name):
    end = time.monotonic() + 240
    while not os.path.exists(name):
        assert time.monotonic() < end, name
        time.sleep(0.05)
wait("written.2")
if rank == 0:
    assert not os.path.exists("out/never")
    for part in (0, 1):
        with open(f"out/f.2.{part}", "rb") as file:
            assert file.read() == bytes((2 * 7 + part + at) % 251 for at in range(BYTES))
    open("read", "w").close()
wait("read")
""".replace("BYTES", str(BYTES))
)


@pytest.mark.full
@pytest.mark.parametrize("how", ["openmpi", "slurm"])
def test_a_rank_reads_a_file_of_another_node_while_the_program_runs(run: Run, how: str) -> None:
    done = run.on_login(run.words(how, READS))
    assert done.status == 0, done.stderr
    assert run.delivered() == {f"f.{rank}.{part}": content(rank, part) for rank in range(4) for part in (0, 1)}
    assert "n2: 2 files, " in done.stderr
    assert "had been delivered while the program ran" in done.stderr


WAITS = (
    SCRIPT
    + """
import time
open(f"written.{rank}", "w").close()
end = time.monotonic() + 240
while not os.path.exists("end"):
    assert time.monotonic() < end
    time.sleep(0.05)
"""
)


@contextlib.contextmanager
def started(run: Run, how: str) -> Iterator[subprocess.Popen[str]]:
    """The command runs on the login node; all ranks have written their files, and end with the block."""
    words = [*run.command, "cluster", "exec", "-c", run.cluster.name, "login", "--", *run.words(how, WAITS)]
    with subprocess.Popen(
        words,
        cwd=run.base,
        env={**os.environ, **run.environment()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            until(lambda: process.poll() is not None or run.has_written(), HANGS_S)
            yield process
        finally:
            (run.base / "end").touch()


@pytest.mark.full
@pytest.mark.parametrize("how", ["openmpi", "slurm"])
def test_an_agent_that_is_killed_is_named_and_its_node_can_be_resumed(run: Run, how: str) -> None:
    with started(run, how) as process:
        run.cluster.shell("n2", "kill -9 $(pgrep -f tailrace.stage.[n]ode_agent)")
        (run.base / "end").touch()
        _, said = process.communicate(timeout=HANGS_S)
    assert process.returncode == 1, said
    assert run.delivered() == {f"f.{rank}.{part}": content(rank, part) for rank in RANKS["n1"] for part in (0, 1)}
    (folder,) = run.folders("n2")
    assert "n2: its agent is lost" in said
    assert f"`tailrace drain resume {folder}` continues on n2" in said
    run.cluster.on("n2", *run.command, "drain", "resume", folder, timeout_s=HANGS_S)
    assert run.delivered() == {f"f.{rank}.{part}": content(rank, part) for rank in range(4) for part in (0, 1)}
    run.cluster.shell("n2", f"rm -r {folder}")


@pytest.mark.full
def test_a_node_that_vanishes_is_named_and_the_others_deliver(run: Run) -> None:
    with started(run, "openmpi") as process:
        (folder,) = run.folders("n2")
        faults.inject(run.cluster, "kill", "n2")
        _, said = process.communicate(timeout=HANGS_S)
    try:
        assert process.returncode != 0
        there = run.delivered()
        assert {f"f.{rank}.{part}": content(rank, part) for rank in RANKS["n1"] for part in (0, 1)} == there
        assert "n2: its agent is lost" in said
        assert f"stays in n2:{folder}" in said
    finally:
        faults.undo(run.cluster)
    # The scratch of the node is as it was, because only its processes were killed.
    resumed = run.cluster.try_on("n2", [*run.command, "drain", "resume", folder], timeout_s=HANGS_S)
    assert resumed.status in (0, 1), resumed
    assert run.delivered().keys() == {f"f.{rank}.{part}" for rank in range(4) for part in (0, 1)}
    run.cluster.shell("n2", f"rm -r {folder}")


@pytest.mark.full
def test_before_the_time_limit_of_a_job_what_is_left_is_named(run: Run) -> None:
    """A limit of one minute, the shortest that Slurm has. The job's command gets SIGTERM at its end, and has all delivered."""
    words = run.words("slurm", WAITS)
    script = run.base / "job.sh"
    script.write_text(f"#!/bin/sh\ncd {run.base}\nexec " + shlex.join(words[words.index("-Q") + 1 :]) + "\n")
    out = run.base / "job.out"
    run.on_login(["sbatch", "-N", "2", "--ntasks-per-node=2", "-t", "1", "-o", str(out), str(script)])
    until(run.has_written, HANGS_S)
    until(lambda: "delivered to" in out.read_text(), HANGS_S)
    said = out.read_text()
    for node in ("n1", "n2"):
        assert f"not at its target yet: {node}:{SCRATCH}/tailrace-" in said
    assert run.delivered() == {f"f.{rank}.{part}": content(rank, part) for rank in range(4) for part in (0, 1)}
