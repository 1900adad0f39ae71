"""Checks whether this machine can have a cluster: rights, kernel features, programs. Each one that is missing is named with its
remedy."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.cluster import loads
from tailrace.cluster.filesystems import FILE_SYSTEMS, FileSystem, file_system_of
from tailrace.cluster.inside import kernel, throttle
from tailrace.cluster.slurm import PROGRAMS as SLURM_PROGRAMS
from tailrace.cluster.values import AUTO, USER, ClusterSpec, NotPossible
from tailrace.launch.mpi import MPIS

TOOLS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "mount": "mount", "mkfs.ext4": "e2fsprogs"}
# The parts of the kernel's network, and a command that tries each.
LINKS = {
    "bridge": "ip link add bridge0 type bridge",
    "veth": "ip link add n1 type veth peer name eth0",
    "tbf": "tc qdisc add dev lo root tbf rate 1mbit burst 64kb latency 50ms",
}
NETEM = "tc qdisc add dev lo root netem delay 1ms"


@dataclass(frozen=True)
class Need:
    name: str
    for_what: str
    reason: str  # why it is missing, and the remedy; "": it is there
    replaceable: bool = False  # something else can do its work
    package: str = ""  # Debian's package, where it is a program

    @property
    def there(self) -> bool:
        return not self.reason


def refuse_missing(spec: ClusterSpec) -> None:
    missing = [need for need in needs_of(spec) if not need.there]
    if missing:
        lines = "".join(f"\n  {need.name}: {need.reason}" for need in missing)
        raise NotPossible(f"this machine cannot have the cluster '{spec.name}':{lines}")


def needs_of(spec: ClusterSpec) -> Iterator[Need]:
    """Everything that this cluster needs."""
    yield from _basics()
    yield from _network(spec)
    yield from programs("a cluster", {name: package for name, package in TOOLS.items() if spec.images or name != "mkfs.ext4"})
    yield from _file_system(file_system_of(spec))
    if spec.slurm:
        yield from programs("Slurm", SLURM_PROGRAMS)
    if spec.images:
        yield from _images(Path(spec.images))


def every_need() -> Iterator[Need]:
    """Everything that any cluster can need, for `tailrace cluster check`."""
    yield from _basics()
    reason = "" if has_netem() else "not in this kernel: the switch in user space is used"
    yield Need("netem", "delay in the kernel's network", reason, replaceable=True)
    yield from _links(LINKS)
    yield _of("TUN", "the switch in user space", _device("/dev/net/tun"))
    yield from programs("a cluster", TOOLS)
    for file_system in FILE_SYSTEMS.values():
        yield from _file_system(file_system)
    yield from programs("Slurm", SLURM_PROGRAMS)
    for mpi in MPIS.values():
        yield from programs(f"run --mpi {mpi.name}", {mpi.program: mpi.package})
    for name, load in loads.LOADS.items():
        yield from programs(f"load {name}", {load.program: load.package})
    yield _of("loop devices", "disks that are images", _device("/dev/loop-control"))
    yield _of("control groups", "slow disks", throttle.why_not)


def has_netem() -> bool:
    """Whether the kernel can delay packets of an interface."""
    return not _why_not_in_own_network(NETEM)


def _why_not_in_own_network(command: str) -> str:
    """Tries a command in a network namespace of its own; "" when it works."""

    def action() -> None:
        kernel.unshare(kernel.CLONE_NEWNET)
        done = subprocess.run(command.split(), check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.stderr.strip() or f"status {done.returncode}")

    try:
        made, why = _in_child(action)
    except OSError as error:
        return str(error)
    return "" if made else why or "not possible"


def _links(names: Iterable[str]) -> Iterator[Need]:
    """Parts of the kernel's network. Tried only as root and with the programs: their absence is reported on its own."""
    if platform.system() != "Linux" or os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc"))):
        return
    for name in names:
        why = _why_not_in_own_network(LINKS[name])
        remedy = f"not in this kernel ({why}): load its module, or choose --network user"
        yield Need(name, "the kernel's network", remedy if why else "", replaceable=True)


def _basics() -> Iterator[Need]:
    if platform.system() != "Linux":
        yield Need("Linux", "namespaces", f"this is {platform.system()}: a cluster needs Linux")
        return
    if os.geteuid() != 0:
        yield Need("root", "namespaces and mounts", f"user {os.geteuid()} is not root: run this as root, or with sudo")
        return
    flags = {"network": kernel.CLONE_NEWNET, "mount": kernel.CLONE_NEWNS, "host-name": kernel.CLONE_NEWUTS}
    flags |= {"process": kernel.CLONE_NEWPID, "IPC": kernel.CLONE_NEWIPC}
    for name, flag in flags.items():
        made, why = _in_child(lambda flag=flag: kernel.unshare(flag))  # type: ignore[misc]
        yield Need(f"{name} namespaces", "nodes", "" if made else f"{why}: in a container, start it privileged (CAP_SYS_ADMIN)")


def _network(spec: ClusterSpec) -> Iterator[Need]:
    delays = spec.links.delay_us > 0
    if spec.network == USER or (spec.network == AUTO and delays and not has_netem()):
        yield _of("TUN", "the switch in user space", _device("/dev/net/tun"))
        return
    yield from _links(LINKS if spec.links.rate_mbit > 0 else ("bridge", "veth"))
    if delays and not has_netem():
        yield Need("netem", "delay", "not in this kernel: choose --network user, or auto")


def _file_system(file_system: FileSystem) -> Iterator[Need]:
    yield from programs(file_system.name, file_system.programs)
    if file_system.has_servers:
        yield _of("FUSE", f"mounts of {file_system.name}", _device("/dev/fuse"))


def _images(folder: Path) -> Iterator[Need]:
    yield _of("loop devices", "disks that are images", _device("/dev/loop-control"))
    reason = "" if folder.is_dir() else f"{folder} is not a folder: make it, or name another folder"
    for covered in ("/run", "/dev/shm", "/mnt"):
        if folder.resolve().is_relative_to(covered):
            reason = f"{folder}: each node has a {covered} of its own and does not see the machine's: choose a folder elsewhere"
    if not reason:
        try:
            os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600))
        except OSError as error:
            reason = (
                f"{folder}: its file system has no unnamed files ({error.strerror}): choose a folder on ext4, xfs, btrfs or tmpfs"
            )
    yield Need("images", "disks of ext4", reason)


def programs(for_what: str, wanted: Mapping[str, str]) -> Iterator[Need]:
    """`wanted`: programs and their Debian packages."""
    for program, package in wanted.items():
        there = shutil.which(program) is not None
        yield Need(program, for_what, "" if there else f"not on the PATH: install Debian's package {package}", package=package)


def _of(name: str, for_what: str, why_not: Callable[[], str | None]) -> Need:
    return Need(name, for_what, why_not() or "")


def _device(path: str) -> Callable[[], str | None]:
    def why_not() -> str | None:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            return f"{path}: {error.strerror}: load the kernel's module, or start the container with this device"
        return None

    return why_not


def _in_child(action: Callable[[], None]) -> tuple[bool, str]:
    """Tries the action in a child process; returns whether it worked, and the reason why not."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException as error:
            os.write(writing, str(error).encode()[:400])
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as text:
        why = text.read()
    _, status = os.waitpid(pid, 0)
    return status == 0, why
