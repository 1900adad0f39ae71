"""A slow disk: an ext4 file system on a loop device in memory, and a control group in which a program may write so many bytes a
second to it. Nobody else uses it, unlike the disk of a virtual machine, whose host may hold it back at any moment.

The kernel holds up what the program itself sends to the device: direct writes, and what it waits for in fsync. Needs root, Linux,
loop devices, mkfs.ext4, and version 1 of the blkio control group.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.harness import BenchError

CONTROL = Path("/sys/fs/cgroup/blkio")
LIMIT = "blkio.throttle.write_bps_device"
TOOLS = ("mkfs.ext4", "losetup", "mount", "umount")


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
    return None if (CONTROL / LIMIT).exists() else f"no {CONTROL / LIMIT}"


@contextlib.contextmanager
def slow_disk(bytes_per_s: int, size_bytes: int) -> Iterator[SlowDisk]:
    """Gone afterwards. BenchError where there can be none."""
    if reason := why_not():
        raise BenchError(f"no slow disk: {reason}")
    with contextlib.ExitStack() as undo:
        home = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="tailrace-slow-disk-", dir="/dev/shm")))
        image = home / "image"
        image.touch()
        os.truncate(image, size_bytes)
        _run("mkfs.ext4", "-q", "-E", "nodiscard", "-m", "0", str(image))
        device = _run("losetup", "--find", "--show", str(image))
        undo.callback(_run, "losetup", "--detach", device)
        directory = home / "mounted"
        directory.mkdir()
        _run("mount", device, str(directory))
        undo.callback(_run, "umount", str(directory))
        group = CONTROL / home.name
        group.mkdir()
        undo.callback(_remove, group)
        number = os.stat(device).st_rdev
        (group / LIMIT).write_text(f"{os.major(number)}:{os.minor(number)} {bytes_per_s}")
        yield SlowDisk(directory, group)


def _run(*command: str) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise BenchError(f"{' '.join(command)}: {finished.stderr.strip()}")
    return finished.stdout.strip()


def _remove(group: Path, patience_s: float = 5) -> None:
    """Processes that have just ended keep a group busy for a moment."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
