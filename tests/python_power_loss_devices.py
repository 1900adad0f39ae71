"""python_power_loss_devices.py FOLDER FILE_SYSTEM OPTIONS IMAGES SEED: the power of a file system's device fails while ranks write.

FILE_SYSTEM is made in a file of FOLDER and mounted as a loop device. At a random moment the kernel shuts it down: the device keeps
what it has then, and each later call fails. Then it is mounted again, and the stream is read, verified and continued.
Prints a line for each image that lost something, and how many images there were. For root, in a mount namespace of its own.
"""

from __future__ import annotations

import fcntl
import os
import random
import struct
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import tailrace
from mpi4py import MPI
from python_power_loss_check import fault_of
from python_resume import write_on

COMM = MPI.COMM_WORLD
MIB = 1 << 20
# The least that mkfs.xfs takes is 300 MiB. The file has holes.
DEVICE_BYTES = 320 * MIB
MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-F"),
    "ext4-without-journal": ("mkfs.ext4", "-q", "-F", "-O", "^has_journal"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
}
# XFS_IOC_GOINGDOWN of the kernel, which is EXT4_IOC_SHUTDOWN, too. The journal of the file system is flushed before, or not.
SHUT_DOWN = 0x8004587D
LOG_FIRST, LOG_NOT = 1, 2
STEPS = 11
CLOSED, FAILED = "closed", "failed"


class Disk:
    """A file system on a loop device. `mounted`: its folder."""

    def __init__(self, folder: Path, file_system: str) -> None:
        self.mounted = folder / "mounted"
        self.mounted.mkdir(exist_ok=True)
        self._image = folder / "device"
        self._is_ext4 = file_system.startswith("ext4")
        self._image.unlink(missing_ok=True)
        self._image.touch()
        os.truncate(self._image, DEVICE_BYTES)
        run(*MAKE[file_system], str(self._image))
        self.mount()

    def mount(self) -> None:
        run("mount", "-o", "loop", str(self._image), str(self.mounted))

    def unmount(self) -> None:
        run("umount", str(self.mounted))

    def fail(self, way: int) -> None:
        descriptor = os.open(self.mounted, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, SHUT_DOWN, struct.pack("I", way))
        finally:
            os.close(descriptor)

    def come_back(self) -> None:
        """What the machine does when it has power again. e2fsck ends with 1 if it has mended."""
        self.unmount()
        if self._is_ext4:
            done = subprocess.run(["e2fsck", "-fy", str(self._image)], capture_output=True, text=True, check=False)
            if done.returncode > 1:
                raise RuntimeError(f"e2fsck ended with status {done.returncode}: {done.stdout}{done.stderr}")
        self.mount()


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} ended with status {done.returncode}: {done.stderr}")


class PowerLoss(threading.Thread):
    """Fails the disk when some steps are in `told` and a part of one more has passed. Before, the kernel may have begun to write
    some files that nobody flushed. `told_before`: what was told until then. An fsync that the failure overtakes may return 0 on
    ext4 (Linux 6.18: 8 of 500 images); where a machine loses its power, no program hears that."""

    def __init__(self, disk: Disk, rng: random.Random, told: list[str]) -> None:
        super().__init__()
        self.way = rng.choice((LOG_FIRST, LOG_NOT, LOG_NOT))
        self.told_before: list[str] = []
        self._disk = disk
        self._told = told
        self._steps = rng.randint(0, STEPS + 1)
        self._rng = random.Random(rng.random())

    def run(self) -> None:
        begin = time.monotonic()
        written_back = self._rng.randint(0, self._steps)
        for step in range(self._steps):
            while len(self._told) <= step and self._told[-1:] not in ([CLOSED], [FAILED]):
                time.sleep(0.0002)
            if step >= written_back:
                self._write_back()
        a_step_s = (time.monotonic() - begin) / self._steps if self._steps else 0.05
        time.sleep(self._rng.uniform(0, a_step_s))
        self.told_before = list(self._told)
        self._disk.fail(self.way)

    def _write_back(self) -> None:
        """The kernel begins to write half of the files, whatever the program has flushed."""
        for path in sorted(self._disk.mounted.rglob("*")):
            if self._rng.random() < 0.5 or not path.is_file():
                continue
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def write(directory: str, keys: dict[str, Any], told: list[str]) -> None:
    """`told`: what was accepted on this rank, then that the stream was closed, or that an error ended it."""
    try:
        write_on(COMM, directory, keys, 0, STEPS, lambda step: told.append(f"accepted {step}"))
    except (tailrace.Error, OSError):
        told.append(FAILED)
    else:
        told.append(CLOSED)


def main(folder: str, file_system: str, options: str, images: int, seed: str) -> None:
    keys = tomllib.loads(options)
    keys["take_over"] = "on"
    rng = random.Random(seed)
    directory = str(Path(folder) / "mounted" / "out")
    ends: Counter[str] = Counter()
    for number in range(images):
        told: list[str] = []
        disk = loss = None
        if COMM.rank == 0:
            disk = Disk(Path(folder), file_system)
            loss = PowerLoss(disk, rng, told)
        COMM.Barrier()
        if loss is not None:
            loss.start()
        write(directory, keys, told)
        all_told = COMM.gather(told)
        if disk is None or loss is None or all_told is None:
            continue
        loss.join()
        disk.come_back()
        # Ranks are told together: what rank 0 was told is durable, whether the others have heard of it or not.
        accepted = sum(text.startswith("accepted") for text in loss.told_before)
        end = CLOSED if CLOSED in loss.told_before else FAILED
        ends[end] += 1
        is_durable = keys["durability"] == "step" or end == CLOSED
        why = fault_of(directory, accepted if is_durable else 0, keys)
        if why is not None:
            print(f"fault: image {number}, {'log first' if loss.way == LOG_FIRST else 'no log'}, {accepted} steps, {end}: {why}")
        disk.unmount()
    if COMM.rank == 0:
        print(f"{images} images: {ends[FAILED]} of a run that the power loss ended, {ends[CLOSED]} of one that had closed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
