"""Slurm: slurmctld and munged on the login node, slurmd on each compute node; srun and sbatch, with PMIx for MPI."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.cluster.cluster import Cluster
from tailrace.cluster.inside.paths import SHARED
from tailrace.cluster.values import LOGIN
from tailrace.cluster.waiting import wait_until

FOLDER = f"{SHARED}/slurm"
READY_S = 30.0
MEMORY_MB = 1000  # the memory that a node offers; nothing checks it
# For barriers without data Slurm 22.05 takes a tree, which joins only the ranks of one node. Ranks then leave MPI_Init too early,
# send to ranks of other nodes that cannot receive yet, and crash (1 launch in 30 on a loaded machine). A ring joins all ranks.
MPI = "PMIxCliTmpDirBase=/run/tmp\nPMIxCollFence=ring\n"
PROGRAMS = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "sbatch": "slurm-client",
    "sinfo": "slurm-client",
}


def configuration(cluster: Cluster) -> str:
    login = cluster.host(LOGIN)
    nodes = "".join(
        f"NodeName={node} NodeAddr={cluster.host(node).address} CPUs={cluster.spec.slots} RealMemory={MEMORY_MB} State=UNKNOWN\n"
        for node in cluster.compute_nodes
    )
    return f"""ClusterName={cluster.name}
SlurmctldHost={login.name}({login.address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={FOLDER}/munge/socket
CredType=cred/munge
StateSaveLocation={FOLDER}/state
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={FOLDER}/slurmctld.log
SlurmdLogFile={FOLDER}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=15
SlurmdParameters=config_overrides
{nodes}PartitionName=all Nodes={",".join(cluster.compute_nodes)} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def prepare(cluster: Cluster) -> None:
    """Writes the configuration and a key for this cluster, into its memory."""
    cluster.write(LOGIN, f"{FOLDER}/slurm.conf", configuration(cluster))
    cluster.write(LOGIN, f"{FOLDER}/mpi.conf", MPI)
    cluster.write(LOGIN, f"{FOLDER}/cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores=no\n")
    make_key = f"mkdir -p {FOLDER}/munge {FOLDER}/state; head -c 1024 /dev/urandom > {FOLDER}/munge/key"
    cluster.shell(LOGIN, f"{make_key}; chmod 700 {FOLDER}/state; chmod 711 {FOLDER}/munge; chmod 400 {FOLDER}/munge/key")


def start(cluster: Cluster, node: str) -> None:
    if node == LOGIN:
        files = " ".join(f"--{name}-file {FOLDER}/munge/{name}" for name in ("key", "pid", "log", "seed"))
        munge = f"munged --force --socket {FOLDER}/munge/socket {files}"
        cluster.shell(node, f"rm -f {FOLDER}/munge/socket* {FOLDER}/munge/pid; {munge}; exec slurmctld")
    else:
        cluster.shell(node, f"mkdir -p /run/slurmd; exec slurmd -N {node}")


def wait_until_ready(cluster: Cluster, nodes: Sequence[str]) -> None:
    """Returns when Slurm replies and starts jobs on these nodes."""

    def missing() -> str:
        done = cluster.try_on(LOGIN, ["sinfo", "-h", "-N", "-o", "%N %T"])
        if done.status != 0:
            return f"Slurm: {done.stderr.strip() or 'sinfo fails'}"
        states = dict(line.split() for line in done.stdout.splitlines())
        absent = [node for node in nodes if states.get(node) not in ("idle", "mixed", "allocated")]
        return f"Slurm's nodes {', '.join(f'{node} {states.get(node)}' for node in absent)} {done.stderr.strip()}" if absent else ""

    wait_until(missing, READY_S)
