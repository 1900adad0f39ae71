"""Disks held to so many bytes a second, by version 1 of the blkio control group.

The kernel holds up what the members of the group send to the device themselves: direct writes, and what they wait for in fsync or
on a file system that is mounted `sync`. A control group is the one thing of a cluster that the machine keeps: `sweep` removes it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

CONTROL = Path("/sys/fs/cgroup/blkio")
WRITES = ("blkio.throttle.write_bps_device",)
BOTH = (*WRITES, "blkio.throttle.read_bps_device")
PREFIX = "tailrace-cluster"
PATIENCE_S = 5.0


def why_not() -> str | None:
    """The reason why no disk can be held up here; None where it can."""
    return None if (CONTROL / WRITES[0]).exists() else f"no {CONTROL / WRITES[0]}: version 1 of the blkio control group is needed"


def group_of(cluster: str, node: str) -> Path:
    return CONTROL / f"{PREFIX}.{cluster}.{node}"


def hold_up(group: Path, device: str, bytes_per_s: int, members: Iterable[int] = (), limits: Sequence[str] = BOTH) -> None:
    """`device`: MAJOR:MINOR. 0 bytes a second: no longer."""
    group.mkdir(exist_ok=True)
    for limit in limits:
        (group / limit).write_text(f"{device} {bytes_per_s}")
    for pid in members:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def remove(group: Path, patience_s: float = PATIENCE_S) -> None:
    """Processes that have just ended keep a group busy for a moment."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return group.rmdir()
        except FileNotFoundError:
            return None
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def groups_of(cluster: str) -> list[Path]:
    return sorted(CONTROL.glob(f"{PREFIX}.{cluster}.*"))


def sweep(cluster: str) -> None:
    for group in groups_of(cluster):
        with contextlib.suppress(OSError):
            remove(group)


def clusters_with_groups() -> set[str]:
    return {path.name.split(".")[1] for path in CONTROL.glob(f"{PREFIX}.*.*")}


def processes_in(namespace: str) -> list[int]:
    """Those of a process namespace, as /proc/PID/ns/pid names it, and of those below it that we see by that name."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == namespace:
                    found.append(int(name))
    return found
