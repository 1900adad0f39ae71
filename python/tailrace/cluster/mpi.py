"""How each MPI starts ranks on chosen nodes, with the cluster's agent as the remote shell. To add one: its line in FLAVOURS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tailrace.cluster import programs
from tailrace.cluster.inside.paths import AGENT

Placed = Sequence[tuple[str, int]]  # nodes and their ranks


@dataclass(frozen=True)
class Flavour:
    program: str
    package: str
    words: Callable[[Placed], list[str]]  # between the program's name and the command
    pmi: str  # by which srun starts its ranks
    environment: tuple[tuple[str, str], ...]
    of_ranks: Callable[[], dict[str, str]] = dict  # variables that the launcher itself must not have

    def command(self, placed: Placed, command: Sequence[str]) -> list[str]:
        return [self.program, *self.words(placed), *command]


def _hosts(placed: Placed) -> str:
    return ",".join(f"{node}:{count}" for node, count in placed)


def _ranks(placed: Placed) -> str:
    return str(sum(count for _, count in placed))


def _open_mpi(placed: Placed) -> list[str]:
    # Messages go through the cluster's links, also between ranks of one machine: vader would find the other node's memory.
    settings = {
        "plm_rsh_agent": AGENT,
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_if_include": "eth0",
        "btl_tcp_if_include": "eth0",
        "pml": "ob1",
        "btl": "self,vader,tcp",
        "btl_vader_single_copy_mechanism": "none",
        "mpi_yield_when_idle": "1",
    }
    words = [word for name, value in settings.items() for word in ("--mca", name, value)]
    return [*words, "--host", _hosts(placed), "--map-by", "slot", "--bind-to", "none", "-n", _ranks(placed)]


def _mpich(placed: Placed) -> list[str]:
    launcher = ["-launcher", "ssh", "-launcher-exec", AGENT, "-iface", "eth0", "-bind-to", "none"]
    variables = [word for name, value in _mpich_ranks().items() for word in ("-genv", name, value)]
    return [*launcher, *variables, "-hosts", _hosts(placed), "-n", _ranks(placed)]


def _mpich_ranks() -> dict[str, str]:
    """UCX would look for devices that the nodes do not have; why something is preloaded, cluster/mpich/end.c says."""
    return {"UCX_TLS": "tcp,self", "LD_PRELOAD": programs.mpich_end()}


FLAVOURS = {
    "openmpi": Flavour(
        "mpirun.openmpi",
        "openmpi-bin",
        _open_mpi,
        "pmix",
        (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")),
    ),
    "mpich": Flavour("mpirun.mpich", "mpich", _mpich, "pmi2", (), _mpich_ranks),
}
