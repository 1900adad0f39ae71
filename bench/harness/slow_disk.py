"""A slow disk: an ext4 file system on a loop device in memory, and a control group in which a program may write so many bytes a
second to it. Nobody else uses it, unlike the disk of a virtual machine, whose host may hold it back at any moment.

Disk and control group are those of the bench cluster, without the cluster. Needs root, Linux, loop devices, mkfs.ext4, and control
groups that can hold disks up (version 2 with io, or version 1 with blkio).
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tailrace.cluster.inside import disk, throttle

from bench.harness import BenchError

MEMORY = "/dev/shm"
TOOLS = ("mkfs.ext4", "umount")


@dataclasses.dataclass(frozen=True)
class SlowDisk:
    directory: Path
    control_group: Path  # of the programs that are held up


def why_not() -> str | None:
    """The reason why there can be no slow disk here; None where there can."""
    if os.geteuid() != 0:
        return "only root mounts file systems and makes control groups"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} not found"
    if not Path("/dev/loop-control").exists():
        return "no loop devices"
    return throttle.why_not()


@contextlib.contextmanager
def slow_disk(bytes_per_s: int, size_bytes: int) -> Iterator[SlowDisk]:
    """Gone afterwards. BenchError where there can be none."""
    if reason := why_not():
        raise BenchError(f"no slow disk: {reason}")
    with contextlib.ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="tailrace-slow-disk-", dir=MEMORY))) / "mounted"
        directory.mkdir()
        try:
            disk.mount_image(MEMORY, size_bytes, str(directory))
        except OSError as error:
            raise BenchError(f"no slow disk: {error}") from None
        undo.callback(subprocess.run, ["umount", str(directory)], check=True)
        group = throttle.group_called(directory.parent.name)
        undo.callback(throttle.remove, group)
        throttle.limit(group, disk.device_of(str(directory)), bytes_per_s, reads=False)
        yield SlowDisk(directory, group)
