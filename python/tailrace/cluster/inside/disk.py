"""The disk of a node: memory, or ext4 on a loop device over an unnamed file.

Nothing of either stays after the cluster: the file has no name, the device frees itself after the last unmount, and the mount ends
with its namespace.
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
    """`described`: bytes, and the folder for the image; without a folder the disk is memory."""
    if described["folder"]:
        mount_image(described["folder"], described["bytes"], target)
    else:
        kernel.mount_memory(target, described["bytes"])


def mount_image(folder: str, size_bytes: int, target: str) -> None:
    """Makes and mounts an ext4 image. Raises OSError, which names the step that failed."""
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
        os.close(device)  # from here on only the mount keeps the device


def make_file_system(image: int) -> None:
    words = ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"]
    done = subprocess.run([*words, f"/proc/self/fd/{image}"], pass_fds=[image], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(errno.EIO, f"mkfs.ext4: {done.stderr.strip()}")


def attach(image: int) -> tuple[str, int]:
    """Makes a loop device over the file. Returns its path and its descriptor. It detaches itself at the last close or unmount."""
    config = CONFIG.pack(image, 0, 0, 0, 0, 0, 0, 0, 0, 0, LO_FLAGS_AUTOCLEAR, b"", b"", b"", 0, 0)
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(ATTEMPTS):
            path, device = open_loop(fcntl.ioctl(control, LOOP_CTL_GET_FREE))
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE, config)
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:  # EBUSY: another process took this device first
                    raise
            else:
                return path, device
    finally:
        os.close(control)
    raise OSError(errno.EBUSY, "no free loop device: free one with `losetup -d`")


def open_loop(number: int) -> tuple[str, int]:
    """Opens a loop device. Where the kernel makes no entry in /dev, one is made under a random name, opened and removed."""
    path = f"/dev/loop{number}"
    with contextlib.suppress(FileNotFoundError):
        return path, os.open(path, os.O_RDWR | os.O_CLOEXEC)
    entry = f"/dev/.tailrace-loop-{os.urandom(8).hex()}"
    os.mknod(entry, 0o600 | stat.S_IFBLK, os.makedev(LOOP_MAJOR, number))
    try:
        device = os.open(entry, os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.unlink(entry)
    return f"/proc/self/fd/{device}", device


def device_of(mounted: str) -> str:
    """MAJOR:MINOR of the device that is mounted there, as control groups name devices."""
    number = os.stat(mounted).st_dev
    return f"{os.major(number)}:{os.minor(number)}"
