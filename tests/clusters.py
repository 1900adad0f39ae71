"""Clusters for tests: brought up where the machine can have one, each with its own name, ended with the test run, whatever ends it.

A machine that lacks a right or a kernel feature skips these tests and says which; one that lacks only programs fails them, as they
are installed by `make setup`.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tailrace.cluster import Cluster, ClusterSpec, up
from tailrace.cluster.check import Need, needs_of

NewCluster = Callable[..., Cluster]
numbers = itertools.count(1)


def skip_or_fail(spec: ClusterSpec) -> None:
    missing = [need for need in needs_of(spec) if not need.there]
    if not missing:
        return
    text = "; ".join(f"{need.name}: {need.reason}" for need in missing)
    if all(is_program(need) for need in missing) and (os.environ.get("CI") or shutil.which("apt-get")):
        pytest.fail(f"{text}; run `make setup`", pytrace=False)
    pytest.skip(f"no cluster here: {text}")


def is_program(need: Need) -> bool:
    return "Debian's package" in need.reason


def own_name() -> str:
    """Tests of several runs share the machine."""
    return f"test-{os.getpid()}-{next(numbers)}"


@pytest.fixture(scope="module")
def new_cluster(build_dir: Path) -> Iterator[NewCluster]:
    """new_cluster(nodes=2, file_system="none"): a cluster until the tests of the module have ended."""
    with ExitStack() as ends:

        def make(**choices: object) -> Cluster:
            spec = dataclasses.replace(ClusterSpec(own_name()), **choices)  # type: ignore[arg-type]
            skip_or_fail(spec)
            return ends.enter_context(up(spec))

        yield make


@dataclasses.dataclass(frozen=True)
class Traces:
    """What a cluster would leave on the machine."""

    name: str
    namespaces: frozenset[str]

    @staticmethod
    def of(cluster: Cluster, supervisor: int) -> Traces:
        """`supervisor`: its process as the machine numbers it; the nodes are among its descendants."""
        found = {os.readlink(f"/proc/{pid}/ns/{kind}") for pid in family_of(supervisor) for kind in ("net", "mnt", "pid", "uts")}
        ours = {os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "mnt", "pid", "uts")}
        assert found.isdisjoint(ours), "the cluster shares a namespace with the machine"
        return Traces(cluster.name, frozenset(found))

    def left(self) -> list[str]:
        """Processes, namespaces, mounts, links, control groups and loop devices of it; none: the machine is clean."""
        left = []
        for pid in (entry for entry in os.listdir("/proc") if entry.isdecimal()):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
                kept = {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("net", "mnt", "pid", "uts")} & self.namespaces
            except OSError:
                continue  # it has just ended
            if kept or f"tailrace cluster {self.name}" in words:
                left.append(f"process {pid}: {' '.join(words)} {kept}")
        left += [f"mount: {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if self.name in line]
        left += [f"mount: {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if "mfs#" in line]
        left += [f"control group: {path}" for path in Path("/sys/fs/cgroup").glob(f"*/tailrace-cluster.{self.name}.*")]
        left += [f"door: {line}" for line in Path("/proc/net/unix").read_text().splitlines() if line.endswith(f"/{self.name}")]
        left += [f"interface: {path.name}" for path in Path("/sys/class/net").iterdir() if path.name in ("bridge0", "n1", "meta")]
        return left


def family_of(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(member for child in children for member in family_of(child))]
