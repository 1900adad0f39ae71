"""Limits the bytes a second of disks, by the kernel's control groups: version 2 where it has the io controller, otherwise the blkio
controller of version 1.

The kernel limits what the group's members send to the device themselves: direct writes, and writes that they wait for in fsync or
on a file system mounted `sync`. A control group stays on the machine after the cluster: `sweep` removes it.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MOUNTED = Path("/sys/fs/cgroup")
PREFIX = "tailrace-cluster"
REMOVE_TIMEOUT_S = 5.0


class Control(Protocol):
    """A version of control groups."""

    @property
    def root(self) -> Path: ...

    def why_not(self) -> str | None:
        """The reason why it cannot limit disks; None where it can."""

    def allow(self) -> None:
        """Allows limits on groups."""

    def limit(self, group: Path, device: str, bytes_per_s: int, reads: bool) -> None:
        """`device`: MAJOR:MINOR. 0 bytes a second: no limit."""

    def limited(self, group: Path) -> list[str]:
        """The devices with a limit."""


@dataclass(frozen=True)
class Version1:
    root: Path = MOUNTED / "blkio"

    def why_not(self) -> str | None:
        file = self.root / "blkio.throttle.write_bps_device"
        return None if file.exists() else f"there is no {file}"

    def allow(self) -> None:
        """They always may."""

    def limit(self, group: Path, device: str, bytes_per_s: int, reads: bool) -> None:
        for what in ("write", "read") if reads else ("write",):
            (group / f"blkio.throttle.{what}_bps_device").write_text(f"{device} {bytes_per_s}")

    def limited(self, group: Path) -> list[str]:
        files = [group / f"blkio.throttle.{what}_bps_device" for what in ("write", "read")]
        return sorted({line.split()[0] for file in files for line in file.read_text().splitlines()})


@dataclass(frozen=True)
class Version2:
    root: Path = MOUNTED

    def why_not(self) -> str | None:
        file = self.root / "cgroup.controllers"
        if "io" not in words_of(file):
            return f"{file} does not have io"
        # The machine's first group has no file cgroup.type, and may have members beside groups with limits. A container's may not.
        is_first = not (self.root / "cgroup.type").exists()
        if not is_first and "io" not in words_of(self.allowed) and words_of(self.root / "cgroup.procs"):
            return f"{self.root} cannot give io to groups while it has members: start the container with --cgroupns=host"
        return None if os.access(self.root, os.W_OK) else f"{self.root} cannot be written to: start the container privileged"

    @property
    def allowed(self) -> Path:
        return self.root / "cgroup.subtree_control"

    def allow(self) -> None:
        if "io" not in words_of(self.allowed):
            self.allowed.write_text("+io")

    def limit(self, group: Path, device: str, bytes_per_s: int, reads: bool) -> None:
        value = bytes_per_s or "max"
        (group / "io.max").write_text(f"{device} wbps={value}" + (f" rbps={value}" if reads else ""))

    def limited(self, group: Path) -> list[str]:
        return [line.split()[0] for line in (group / "io.max").read_text().splitlines()]


CONTROLS: tuple[Control, ...] = (Version2(), Version2(MOUNTED / "unified"), Version1())


def words_of(file: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return file.read_text().split()
    return []


def why_not() -> str | None:
    """The reason why disks cannot be limited here; None where they can."""
    reasons = [control.why_not() for control in CONTROLS]
    return None if None in reasons else "; ".join(dict.fromkeys(filter(None, reasons)))


def control() -> Control:
    for one in CONTROLS:
        if one.why_not() is None:
            return one
    raise OSError(f"disks cannot be limited: {why_not()}")


def group_called(name: str) -> Path:
    return control().root / name


def group_of(cluster: str, node: str) -> Path:
    return group_called(f"{PREFIX}.{cluster}.{node}")


def limit(group: Path, device: str, bytes_per_s: int, namespace: str = "", reads: bool = True) -> None:
    """Limits a device. `device`: MAJOR:MINOR. 0 bytes a second: no limit. `namespace`: its processes become members of the
    group."""
    by = control()
    by.allow()
    group.mkdir(exist_ok=True)
    by.limit(group, device, bytes_per_s, reads)
    # A process that is not yet a member may start new ones meanwhile, so this repeats until all are members.
    while namespace and (missing := set(processes_in(namespace)) - members_of(group)):
        for pid in missing:
            with contextlib.suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(pid))


def members_of(group: Path) -> set[int]:
    return {int(word) for word in (group / "cgroup.procs").read_text().split()}


def remove(group: Path, timeout_s: float = REMOVE_TIMEOUT_S) -> None:
    """Removes a group. Processes that have just ended keep it busy for a moment, so this repeats."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return group.rmdir()
        except FileNotFoundError:
            return None
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def groups(pattern: str) -> list[tuple[Control, Path]]:
    return [(one, group) for one in CONTROLS for group in sorted(one.root.glob(f"{PREFIX}.{pattern}"))]


def lift_limits(cluster: str) -> None:
    """A process that waits for a slow disk cannot be killed before its bytes are written. So the limits go first."""
    for by, group in groups(f"{cluster}.*"):
        with contextlib.suppress(OSError):
            for device in by.limited(group):
                by.limit(group, device, 0, reads=True)


def sweep(cluster: str) -> None:
    lift_limits(cluster)
    for _, group in groups(f"{cluster}.*"):
        with contextlib.suppress(OSError):
            remove(group)


def clusters_with_groups() -> set[str]:
    return {group.name.split(".")[1] for _, group in groups("*.*")}


def processes_in(namespace: str) -> list[int]:
    """The processes of a process namespace, which has the name of /proc/PID/ns/pid."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == namespace:
                    found.append(int(name))
    return found
