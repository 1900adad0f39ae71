"""The folder of a recorded run: who may write and read it. Nothing in it is opened through a link.

RATIONALE: logs hold file names and command lines. Who can write in the folder could put a link under the name of a log that root
is about to write.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tailrace.plain_text import quoted

OWNER = "owner"
FOLDER_MODES = {OWNER: 0o700, "group": 0o750, "all": 0o755}  # who may read the logs -> rights of the folder
FILE_MODES = {OWNER: 0o600, "group": 0o640, "all": 0o644}  # as src/trace/log_file.cpp has them
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
PROBE, PROBE_BYTES = ".probe", 4096


class NotTraceable(RuntimeError):
    """This program or this folder cannot be traced; the text contains the reason and the remedy."""


def make_log_folder(folder: Path | None, share: str = OWNER) -> Path:
    """Makes the folder of a run, which must be new, or empty and writable by this user alone. Without a name: the first
    tailrace-run-N that does not exist. Raises NotTraceable."""
    try:
        if folder is None:
            folder = make_numbered(Path(), "tailrace-run-")
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=FOLDER_MODES[OWNER])
        with _opened(folder) as descriptor:
            status = os.fstat(descriptor)
            _refuse_folder_of_others(folder, status)
            with os.scandir(descriptor) as there:
                if next(there, None) is not None:
                    raise NotTraceable(f"{folder}: not empty; name a new folder with --log, one for each run")
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~0o777 | FOLDER_MODES[share])
            _check_shared_maps(descriptor)
    except OSError as error:
        if folder is not None and folder.is_symlink():
            raise NotTraceable(f"{folder}: is a symbolic link; name the folder itself with --log") from None
        raise NotTraceable(f"{folder}: no logs can be written there ({error.strerror}); name another folder with --log") from None
    return folder.resolve()


def write_new(folder: Path, name: str, text: str, share: str = OWNER) -> None:
    """Writes a file of the folder that is not there yet. Raises OSError."""
    with _opened(folder) as directory, _created(directory, name) as descriptor:
        os.fchmod(descriptor, FILE_MODES[share])
        with open(descriptor, "w", closefd=False) as file:
            file.write(text)


def make_numbered(parent: Path, stem: str) -> Path:
    """Makes the first folder STEM1, STEM2, ... that does not exist. Raises NotTraceable, and OSError."""
    for number in range(1, 10**6):
        path = parent / f"{stem}{number}"
        try:
            path.mkdir(mode=FOLDER_MODES[OWNER])
        except FileExistsError:
            continue
        return path
    raise NotTraceable(f"all folders {stem}1 to {stem}999999 exist; name a new folder with --log")


def _refuse_folder_of_others(folder: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise NotTraceable(f"{folder}: belongs to user {status.st_uid}; name a new folder with --log")
    if status.st_mode & OTHERS_WRITE:
        raise NotTraceable(f"{folder}: others can write there; chmod go-w {quoted(folder)}, or name a new folder with --log")


def _check_shared_maps(directory: int) -> None:
    """Logs are written through shared memory maps, which some file systems do not have."""
    with _created(directory, PROBE) as descriptor:
        try:
            os.ftruncate(descriptor, PROBE_BYTES)
            with mmap.mmap(descriptor, PROBE_BYTES, mmap.MAP_SHARED) as memory:
                memory[0] = 1
        finally:
            os.unlink(PROBE, dir_fd=directory)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _created(directory: int, name: str) -> Iterator[int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, FILE_MODES[OWNER], dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
