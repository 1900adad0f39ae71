"""Ranks on several nodes: mpirun with a program as its remote shell, or Slurm's srun."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tailrace.launch.mpi import Mpi
from tailrace.launch.placement import Placed


@dataclass(frozen=True)
class RemoteShell:
    """How a launcher reaches other nodes."""

    program: str  # takes the words of ssh: NODE COMMAND...
    interface: str  # the network interface for the launcher's and the ranks' messages


def mpirun_command(mpi: Mpi, placed: Placed, shell: RemoteShell, variables: Mapping[str, str], words: Sequence[str]) -> list[str]:
    """The mpirun command that starts ranks on the nodes of `placed`, in its order. `variables` are set for ranks, not for
    mpirun."""
    return [mpi.program, *WORDS[mpi.name](mpi, placed, shell, variables), *words]


def srun_command(mpi: Mpi, placed: Placed, variables: Mapping[str, str], words: Sequence[str]) -> list[str]:
    # Names the node of each rank, because Slurm's own placement sorts the nodes, and spreads ranks when the last node is not full.
    nodes = ",".join(node for node, count in placed for _ in range(count))
    counts = ["-N", str(len(placed)), "-n", _ranks(placed), "--overcommit"]
    settings = [f"{name}={value}" for name, value in variables.items()]
    return ["srun", f"--mpi={mpi.pmi}", "-m", "arbitrary", "-w", nodes, *counts, "env", *settings, *words]


def _hosts(placed: Placed) -> str:
    return ",".join(f"{node}:{count}" for node, count in placed)


def _ranks(placed: Placed) -> str:
    return str(sum(count for _, count in placed))


def _open_mpi(mpi: Mpi, placed: Placed, shell: RemoteShell, variables: Mapping[str, str]) -> list[str]:
    # Messages between nodes go over the network, also where the nodes share one machine: vader would find the other node's memory.
    settings = {
        "plm_rsh_agent": shell.program,
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_if_include": shell.interface,
        "btl_tcp_if_include": shell.interface,
        "pml": "ob1",
        "btl": "self,vader,tcp",
        "btl_vader_single_copy_mechanism": "none",
        "mpi_yield_when_idle": "1",
    }
    words = [word for name, value in settings.items() for word in ("--mca", name, value)]
    placing = ["--host", _hosts(placed), "--map-by", "slot", *mpi.unbound]
    return [*words, *placing, *mpi.setting(variables), "-n", _ranks(placed)]


def _mpich(mpi: Mpi, placed: Placed, shell: RemoteShell, variables: Mapping[str, str]) -> list[str]:
    reaching = ["-launcher", "ssh", "-launcher-exec", shell.program, "-iface", shell.interface, *mpi.unbound]
    return [*reaching, *mpi.setting(variables), "-hosts", _hosts(placed), "-n", _ranks(placed)]


WORDS: dict[str, Callable[[Mpi, Placed, RemoteShell, Mapping[str, str]], list[str]]] = {"openmpi": _open_mpi, "mpich": _mpich}
