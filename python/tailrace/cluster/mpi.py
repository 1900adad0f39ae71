"""How each MPI starts ranks on chosen nodes, with the cluster's agent as the remote shell. To add one: its line in FLAVOURS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tailrace.cluster.inside.paths import AGENT

Placed = Sequence[tuple[str, int]]  # nodes and their ranks


@dataclass(frozen=True)
class Flavour:
    program: str
    package: str
    words: Callable[[Placed], list[str]]  # between the program's name and the command
    environment: tuple[tuple[str, str], ...]

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
    # UCX would look for devices that the nodes do not have.
    settings = ["-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0"]
    launcher = ["-launcher", "ssh", "-launcher-exec", AGENT, "-iface", "eth0", "-bind-to", "none"]
    return [*launcher, *settings, "-hosts", _hosts(placed), "-n", _ranks(placed)]


FLAVOURS = {
    "openmpi": Flavour(
        "mpirun.openmpi",
        "openmpi-bin",
        _open_mpi,
        (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")),
    ),
    "mpich": Flavour("mpirun.mpich", "mpich", _mpich, ()),
}
