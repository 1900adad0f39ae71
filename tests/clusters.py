"""Clusters for tests, where the machine can have one. Each has its own name and ends with the test run, however that ends.

A machine that lacks a right or a kernel feature skips these tests and says which; one that lacks only programs fails them, as they
are installed by `make setup`.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tailrace.cluster import Cluster, ClusterSpec, up
from tailrace.cluster.check import needs_of

from tests.environment import ROOT

NewCluster = Callable[..., Cluster]
PACKAGE = {"PYTHONPATH": str(ROOT / "python")}  # for programs of this package in an interpreter of their own
numbers = itertools.count(1)


def skip_or_fail(spec: ClusterSpec) -> None:
    missing = [need for need in needs_of(spec) if not need.there]
    if not missing:
        return
    text = "; ".join(f"{need.name}: {need.reason}" for need in missing)
    if all(need.package for need in missing) and (os.environ.get("CI") or shutil.which("apt-get")):
        pytest.fail(f"{text}; run `make setup`", pytrace=False)
    pytest.skip(f"no cluster here: {text}")


def own_name() -> str:
    """A name that no other test run on the machine has."""
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


# Where services and tools of a cluster would write, if it did not give them folders of their own.
WRITTEN = (
    *("/run", "/dev", "/etc/munge", "/var/lib/mfs", "/var/lib/glusterd", "/var/log/glusterfs", "/var/spool"),
    *(f"/var/{folder}/{service}" for folder in ("lib", "log") for service in ("slurm", "slurm-llnl", "munge", "moosefs")),
)
OF_OTHERS = (
    "/dev/shm",
    "/dev/pts",
    "/dev/mqueue",
    "/dev/hugepages",
    "/run/systemd",
    "/run/udev",
    "/run/user",
    "/run/log",
    "/run/mount",
)
KINDS = ("net", "mnt", "pid", "uts")


@dataclasses.dataclass(frozen=True)
class Traces:
    """Traces that a cluster would leave on the machine."""

    name: str
    images: str  # the folder of its disks; "": they are memory
    files: frozenset[str]  # that were there before it
    namespaces: frozenset[str] = frozenset()

    @staticmethod
    def before(name: str, images: Path | str = "") -> Traces:
        """Call it before the cluster is made."""
        return Traces(name, str(images), files_there())

    def of(self, process: int) -> Traces:
        """These traces, with those namespaces of a process and its descendants that are not the machine's."""
        ours = {os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}
        return dataclasses.replace(self, namespaces=frozenset(namespaces_of(family_of(process)) - ours))

    def left(self) -> list[str]:
        """What is left: processes, namespaces, mounts, links, control groups, loop devices, files. None: the machine is clean."""
        left = []
        for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdecimal()):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue  # it has just ended
            kept = namespaces_of([pid]) & self.namespaces
            if kept or f"tailrace cluster {self.name}" in words:
                left.append(f"process: {pid} {' '.join(words)} {kept}")
        left += [f"mount: {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if self.name in line]
        left += [f"mount: {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if "mfs#" in line]
        groups = [path for depth in ("", "*/") for path in Path("/sys/fs/cgroup").glob(f"{depth}tailrace-cluster.{self.name}.*")]
        left += [f"control group: {path}" for path in groups]
        left += [f"door: {line}" for line in Path("/proc/net/unix").read_text().splitlines() if line.endswith(f"/{self.name}")]
        left += [f"interface: {path.name}" for path in Path("/sys/class/net").iterdir() if path.name in ("bridge0", "n1", "meta")]
        left += [f"loop device: {path}" for path in loops_of(self.images)]
        return left + [f"file: {line}" for line in sorted(files_there() - self.files)]


def namespaces_of(pids: Iterable[int]) -> set[str]:
    found = set()
    for pid in pids:
        with suppress(OSError):  # it has just ended
            found |= {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in KINDS}
    return found


def family_of(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return [pid]  # it has just ended
    return [pid, *(member for child in children for member in family_of(child))]


def loops_of(folder: Path | str) -> list[str]:
    """Loop devices over files in a folder, with names or without."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # it has just been freed
            if folder and path.read_text().startswith(f"{folder}/"):
                found.append(path.parts[3])
    return found


def files_there() -> frozenset[str]:
    """Names and sizes in the folders that services write to. The kernel's own entries for free loop devices do not count."""
    has_own = any(line.split()[1:3] == ["/dev", "devtmpfs"] for line in Path("/proc/self/mounts").read_text().splitlines())
    of_kernel = {f"/dev/{block}" for block in os.listdir("/sys/block")} if has_own else set()
    found = set()
    for top in WRITTEN:
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if f"{folder}/{name}" not in OF_OTHERS]
            for path in {f"{folder}/{name}" for name in (*folders, *names)} - of_kernel:
                with suppress(OSError):  # it has just been removed
                    status = os.lstat(path)
                    found.add(f"{path} {status.st_size if stat.S_ISREG(status.st_mode) else ''}".strip())
    return frozenset(found)


def until(so: Callable[[], Any], limit_s: float = 30, pause_s: float = 0.05) -> None:
    deadline = time.monotonic() + limit_s
    while not so():
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(pause_s)
