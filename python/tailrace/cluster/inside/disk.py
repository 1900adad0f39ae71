"""The disk of a node: memory, or ext4 on a loop device over a file without a name.

Neither leaves anything behind: the file has no name, the device frees itself when nothing mounts it any more, and the mount goes
with the namespace that it is in.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
import subprocess
from typing import Any

from . import kernel

LOOP_CTL_GET_FREE = 0x4C82
LOOP_CONFIGURE = 0x4C0A
LOOP_CLR_FD = 0x4C01
LO_FLAGS_AUTOCLEAR = 4
LOOP_MAJOR = 7
ATTEMPTS = 100
CONFIG = struct.Struct("=IIQQQQQIIII64s64s32sQQ64x")  # struct loop_config: fd, block size, loop_info64, reserved


def mount(described: dict[str, Any], target: str) -> None:
    """`described`: bytes, and folder where the image goes; without folder it is memory."""
    if described["folder"]:
        mount_image(described["folder"], described["bytes"], target)
    else:
        kernel.mount_memory(target, described["bytes"])


def mount_image(folder: str, size_bytes: int, target: str) -> None:
    """OSError names what failed."""
    image = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(image, size_bytes)
        make_file_system(image)
        path, device = attach(image)
    finally:
        os.close(image)
    try:
        kernel.mount(path, target, "ext4")
        os.chmod(target, 0o755)
    except OSError:
        fcntl.ioctl(device, LOOP_CLR_FD, 0)
        raise
    finally:
        os.close(device)  # from here on the mount alone keeps it


def make_file_system(image: int) -> None:
    words = ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"]
    done = subprocess.run([*words, f"/proc/self/fd/{image}"], pass_fds=[image], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(errno.EIO, f"mkfs.ext4: {done.stderr.strip()}")


def attach(image: int) -> tuple[str, int]:
    """A loop device over the file: what to mount, and its descriptor; it detaches itself at the last close or umount."""
    config = CONFIG.pack(image, 0, 0, 0, 0, 0, 0, 0, 0, 0, LO_FLAGS_AUTOCLEAR, b"", b"", b"", 0, 0)
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(ATTEMPTS):
            path, device = open_loop(fcntl.ioctl(control, LOOP_CTL_GET_FREE))
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE, config)
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:  # otherwise another process was faster
                    raise
            else:
                return path, device
    finally:
        os.close(control)
    raise OSError(errno.EBUSY, "no free loop device")


def open_loop(number: int) -> tuple[str, int]:
    """Where /dev makes no entries of its own, ours is there while it is opened, under a name that nobody else takes."""
    path = f"/dev/loop{number}"
    with contextlib.suppress(FileNotFoundError):
        return path, os.open(path, os.O_RDWR | os.O_CLOEXEC)
    made = f"/dev/.tailrace-loop-{os.urandom(8).hex()}"
    os.mknod(made, 0o600 | stat.S_IFBLK, os.makedev(LOOP_MAJOR, number))
    try:
        device = os.open(made, os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.unlink(made)
    return f"/proc/self/fd/{device}", device


def device_of(mounted: str) -> str:
    """MAJOR:MINOR of what is mounted there, as the control groups name devices."""
    number = os.stat(mounted).st_dev
    return f"{os.major(number)}:{os.minor(number)}"
