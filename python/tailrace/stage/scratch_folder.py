"""The scratch folder of one run, which only this user can read, and the counts that the run's processes write in it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.json_text import parse_json
from tailrace.plain_text import quoted
from tailrace.stage.drain import StageError, answers
from tailrace.stage.order import StageOrder

VARIABLES = ("SLURM_TMPDIR", "TMPDIR", "LOCALWORKDIR")  # of batch systems: the job's folder on the node
STATE = ".tailrace-drain"
FULL_BYTES = 64 << 10
RUN_FILE, COUNTS_FILE, LOCK_FILE = "run.json", "counts", "lock"
COPIES_FILE = "early.jsonl"  # src/stage/early_copies.cpp
COUNTS = struct.Struct("<QQI1024sIQI1024s4xIIQ")  # src/place/scratch_counts.hpp


def chosen_scratch(named: str, environment: Mapping[str, str] = os.environ) -> str:
    """The folder that the user names, else the first that the variables of batch systems name. Raises StageError if there is
    none."""
    if named:
        return named
    for variable in VARIABLES:
        if value := environment.get(variable):
            return value
    raise StageError(
        f"no scratch for [stage]: {', '.join('$' + variable for variable in VARIABLES)} are not set; "
        'write scratch = "/dev/shm", or another folder on a disk of the node'
    )


@dataclass(frozen=True)
class Counted:
    """Counts that the processes of a run have written to COUNTS_FILE."""

    on_scratch: int  # files that were made on scratch
    at_target: int  # files that match a pattern, and were made at the target because scratch was too full
    first: str  # the first of the files at_target
    unanswered: int  # names that were not found while a node that may have them did not answer
    first_unanswered: str


class ScratchFolder:
    """The folder of a run. It is locked until `release`: the lock shows that the run writes to it. Raises StageError.
    `delivers_while_running`: files may leave it while the program runs."""

    def __init__(self, parent: str, base: str, *, delivers_while_running: bool = False) -> None:
        real = os.path.realpath(parent)
        _check_place(parent, real, base)
        try:
            # RATIONALE: mkdtemp draws a random name, and never uses an existing folder or link, which may be another user's.
            self.path = tempfile.mkdtemp(prefix="tailrace-", dir=real)
            self.state = os.path.join(self.path, STATE)
            os.mkdir(self.state, 0o700)
            self._lock: int | None = os.open(os.path.join(self.state, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._lock, f"{os.uname().nodename} {os.getpid()}\n".encode())
            with open(os.path.join(self.state, COUNTS_FILE), "xb") as file:
                file.write(COUNTS.pack(0, 0, 0, b"", 0, 0, 0, b"", int(delivers_while_running), 0, 0))
            is_ours = os.stat(self.path)
        except OSError as error:
            raise StageError(
                f"scratch cannot be used: {error.filename}: {error.strerror}: name another folder in [stage]"
            ) from None
        self.device, self.inode = is_ours.st_dev, is_ours.st_ino

    def announce(self, order: StageOrder) -> None:
        """Notes where the files are to go, so that `tailrace drain` knows it if this process is killed. Raises StageError."""
        form = ["--sink", order.sink, "--bundle-bytes", str(order.bundle_bytes), "--compression", order.compression]
        list(answers("announce", self.path, order.target, *form))
        run = {"log": order.log, "base": order.base, "process": os.getpid(), "is_one_of_several": order.is_one_of_several}
        with open(os.path.join(self.state, RUN_FILE), "x", encoding="utf-8") as file:
            json.dump(run, file)

    def counted(self) -> Counted:
        with open(os.path.join(self.state, COUNTS_FILE), "rb") as file:
            on_scratch, at_target, _, first, _, unanswered, _, first_unanswered, *_ = COUNTS.unpack(file.read(COUNTS.size))
        return Counted(on_scratch, at_target, _path(first), unanswered, _path(first_unanswered))

    def is_full(self) -> bool:
        """Whether less than FULL_BYTES are free: then writes have probably failed."""
        return (has := os.statvfs(self.path)).f_bavail * has.f_frsize < FULL_BYTES

    def is_empty(self) -> bool:
        """Whether the folder has no file."""
        return next(files_of(self.path), None) is None

    def has_copies(self) -> bool:
        """Whether copies of its files were made while the program ran."""
        return os.path.exists(os.path.join(self.state, COPIES_FILE))

    def release(self) -> None:
        """Releases the lock, so that a drain can use the folder."""
        lock, self._lock = self._lock, None
        if lock is not None:  # never close it twice: its number may then be another file's descriptor
            os.close(lock)

    def remove(self) -> None:
        """Removes the folder with all its files, which must have been delivered."""
        self.release()
        shutil.rmtree(self.path, ignore_errors=True)


def _path(field: bytes) -> str:
    return os.fsdecode(field.split(b"\0")[0])


def run_of(scratch: Path) -> dict[str, Any]:
    """The content of run.json of the run whose files are on scratch; empty if no run has made the folder."""
    path = scratch / STATE / RUN_FILE
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("log"), str) else {}


def _walk(top: str) -> Any:
    for folder, names, files in os.walk(top):
        if folder == top and STATE in names:
            names.remove(STATE)
        yield folder, names, files


def files_of(scratch: str) -> Iterator[str]:
    """The paths of all files and links below a folder of a run, relative to it."""
    for folder, names, files in _walk(scratch):
        before = "" if folder == scratch else os.path.relpath(folder, scratch) + "/"
        for name in (*files, *(name for name in names if os.path.islink(os.path.join(folder, name)))):
            yield before + name


class Folders:
    """The folders below scratch, which the program has also made at the target. Gives those on scratch the modes of those at the
    target, because the drain delivers modes. Keeps their times, because delivering files changes them. Removes empty ones that are
    not at the target any more: a process of another node has removed them."""

    def __init__(self, scratch: str, base: str) -> None:
        self.times: dict[str, int] = {}
        removed: list[str] = []
        for folder, _, _ in _walk(scratch):
            if folder == scratch:
                continue
            at_target = os.path.join(base, os.path.relpath(folder, scratch))
            try:
                is_there = os.stat(at_target)
                self.times[at_target] = max(os.stat(folder).st_mtime_ns, is_there.st_mtime_ns)
                os.chmod(folder, stat.S_IMODE(is_there.st_mode))
            except FileNotFoundError:
                removed.append(folder)
            except OSError:
                continue
        for folder in reversed(removed):  # an inner one before that in which it is
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def restore_times(self) -> None:
        restore_times(self.times)


def restore_times(times: Mapping[str, int]) -> None:
    for folder, time_ns in times.items():
        with contextlib.suppress(OSError):
            os.utime(folder, ns=(os.stat(folder).st_atime_ns, time_ns))


def _check_place(named: str, real: str, base: str) -> None:
    if not os.path.isdir(real):
        raise StageError(f"scratch = {named}: no such folder: make it, or name another one in [stage]")
    if os.path.commonpath((real, base)) in (real, base):
        raise StageError(f"scratch = {named}: is inside of {base}, or contains it: name a folder on a disk of the node")
    folder = real
    while True:
        of = os.stat(folder)
        others_may = of.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not of.st_mode & stat.S_ISVTX
        if others_may or of.st_uid not in (0, os.geteuid()):
            raise StageError(
                f"scratch = {named}: other users may rename files in {folder}, so files in it are not safe: "
                f"name a folder of your own, or have its owner set the sticky bit (chmod +t {quoted(folder)})"
            )
        if folder == "/":
            return
        folder = os.path.dirname(folder)
