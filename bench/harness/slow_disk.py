"""A slow disk: an ext4 file system on a loop device in memory, with a control group that limits its members' bytes a second.

Its speed is steady. The host of a virtual machine may slow the real disk down at any moment. The code for disk and control group is
that of the bench cluster. It needs root, Linux, loop devices, mkfs.ext4, and control groups that can limit disks (version 2 with
io, or version 1 with blkio).
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
    control_group: Path  # of the programs that are limited


def why_not() -> str | None:
    """The reason why this machine cannot have a slow disk; None where it can."""
    if os.geteuid() != 0:
        return "only root may mount file systems and make control groups: run as root"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} not found: run `make setup`"
    if not Path("/dev/loop-control").exists():
        return "there are no loop devices: load the kernel module loop"
    return throttle.why_not()


@contextlib.contextmanager
def slow_disk(bytes_per_s: int, size_bytes: int) -> Iterator[SlowDisk]:
    """A slow disk for the block. Raises BenchError where this machine cannot have one."""
    if reason := why_not():
        raise BenchError(f"cannot make a slow disk: {reason}")
    with contextlib.ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="tailrace-slow-disk-", dir=MEMORY))) / "mounted"
        directory.mkdir()
        try:
            disk.mount_image(MEMORY, size_bytes, str(directory))
        except OSError as error:
            raise BenchError(f"cannot make a slow disk: {error}") from None
        undo.callback(subprocess.run, ["umount", str(directory)], check=True)
        group = throttle.group_called(directory.parent.name)
        undo.callback(throttle.remove, group)
        throttle.limit(group, disk.device_of(str(directory)), bytes_per_s, reads=False)
        yield SlowDisk(directory, group)
