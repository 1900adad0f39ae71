"""The folder of a comparison, and the copy of the working folder that each run gets in it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tailrace.machine.facts import file_system
from tailrace.trace.log_folder import NotTraceable, make_numbered

STEM = "tailrace-compare-"
REMOVERS = 8  # threads
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "overlayfs", "zfs", "f2fs"}
COPY, LOCK, BUNDLED, USED = "copy", "lock", "bundled", "used"
LEFT_OUT = (STEM, "tailrace-run-")  # beginnings of names in the working folder that are not copied: earlier results


class CompareError(RuntimeError):
    """No comparison can be made; the text says why, and what to do."""


class Copies:
    """`tailrace-compare-N` in the working folder, so that copies are on the same file system. It is locked while it is used."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self._used = 0  # copies that were moved away
        self._begun = 0
        self._is_on_server = file_system(source)["type"] not in LOCAL
        try:
            self.folder = make_numbered(source, STEM)
            self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(OSError):  # some file systems have no locks; `drain scavenge` then leaves the folder alone
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except NotTraceable as error:
            raise CompareError(str(error)) from None

    @property
    def bundled(self) -> Path:
        """The folder for the bundles of a run."""
        return self.folder / self._numbered(BUNDLED)

    @property
    def copy(self) -> Path:
        """The copy in which a run works. On a local file system its path is the same for all runs, because programs may write it
        into their files."""
        return self.folder / self._numbered(COPY)

    def _numbered(self, name: str) -> str:
        # RATIONALE: other nodes remember for a second (FUSE) or more (NFS) which folder has a name, and would work in a copy that
        # was moved away. So where they may share the folder, each copy has a name of its own.
        return f"{name}-{self._begun}" if self._is_on_server else name

    def close(self) -> None:
        self.remove_copy()
        (self.folder / LOCK).unlink(missing_ok=True)
        os.close(self._lock)
        with contextlib.suppress(OSError):  # of a comparison that did not begin, nothing stays
            self.folder.rmdir()

    def remove_copy(self) -> None:
        for folder in (self.copy, self.bundled, self.folder / USED):
            if folder.exists():
                _remove(folder)

    def _put_away(self, free_before: Free) -> None:
        """Moves the copy of a run that has ended away. `free_before`: the free space before the copy was made.

        RATIONALE: used copies are removed only at the end of the comparison, or if there is no room for one more run like this one.
        ext4 without a journal does not reuse inodes that were removed in the last minutes, and examines each of them whenever it
        makes a file: plain runs then took 20 times as long. Other file systems trim removed blocks."""
        used = self.folder / USED
        used.mkdir(exist_ok=True)
        for folder in (self.copy, self.bundled):
            if folder.exists():
                folder.rename(used / str(self._used))
                self._used += 1
        free = _free_on(self.folder)
        if any(now < 2 * (before - now) for before, now in zip(free_before, free, strict=True)):
            _remove(used)

    @contextlib.contextmanager
    def fresh(self) -> Iterator[Path]:
        """Makes a new copy, and writes it to the device before the run begins. Moves the copy away after the run."""
        free_before = _free_on(self.folder)
        self._begun += 1
        self.copy.mkdir(mode=0o700)
        shutil.copymode(self.source, self.copy)
        names = [os.fsencode(entry.name) for entry in os.scandir(self.source) if not entry.name.startswith(LEFT_OUT)]
        if names:
            words = ["xargs", "-0", "cp", "-a", "--reflink=auto", "-t", os.fspath(self.copy), "--"]
            done = subprocess.run(words, input=b"\0".join(sorted(names)), cwd=self.source, capture_output=True, check=False)
            if done.returncode != 0:
                said = done.stderr.decode(errors="replace").strip().splitlines()
                raise CompareError(f"{self.source} could not be copied to {self.copy}: {said[-1] if said else 'cp failed'}")
        sync(self.copy)  # otherwise data of the copy or the last run would be written to the device during the next run
        try:
            yield self.copy
        finally:
            self._put_away(free_before)


def _remove(folder: Path) -> None:
    """With several threads, because a server takes a third of a millisecond for each file."""
    with ThreadPoolExecutor(REMOVERS) as pool:
        for top, _, names in os.walk(folder):
            for _ in pool.map(lambda name, top=top: os.unlink(os.path.join(top, name)), names):
                pass
    shutil.rmtree(folder)


class Free(NamedTuple):
    bytes: int
    inodes: int  # 0 where the file system has no limit


def _free_on(folder: Path) -> Free:
    found = os.statvfs(folder)
    return Free(found.f_bavail * found.f_frsize, found.f_favail)


def sync(folder: Path) -> None:
    """Writes all data of the folder's file system to the device (syncfs). Raises CompareError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise CompareError(f"{folder}: data could not be written to the device (syncfs): {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)
