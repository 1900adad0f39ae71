"""Directories of members on scratch, and what an earlier run left there."""

from __future__ import annotations

import atexit
import contextlib
import copy
import errno
import fcntl
import fnmatch
import itertools
import json
import os
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tailrace.ensemble.directory import MemberDirectory, UntidyError
from tailrace.ensemble.marks import end_processes_of
from tailrace.ensemble.values import EnsembleError, Inputs, MemberError
from tailrace.json_text import parse_json

FOLDER = "tailrace-ensemble"
OWNER = "owner.json"
FICLONE = 0x40049409
BYTES_PER_MIB = 1 << 20


@dataclass(frozen=True)
class InputFile:
    source: str
    target: str  # within a member's directory
    is_read_only: bool


def input_files(inputs: Inputs, home: Path) -> tuple[InputFile, ...]:
    """Every file below the directory of inputs. Raises EnsembleError for a pattern of read-only files that fits none."""
    if not inputs.directory:
        return ()
    top = home / inputs.directory
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder) / name
            target = str(path.relative_to(top))
            if not _fits(target, inputs.skip) and path.is_file():
                found.append(InputFile(str(path), target, _fits(target, inputs.read_only)))
    for pattern in inputs.read_only:
        if not any(fnmatch.fnmatch(file.target, pattern) for file in found):
            raise EnsembleError(f"[inputs] read_only: '{pattern}' fits no file in {top}")
    return tuple(sorted(found, key=lambda file: file.target))


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def copy_file(source: str, target: str) -> None:
    """A reflink where the file system makes one, else a copy of the bytes. Keeps the mode."""
    with open(source, "rb") as file:
        found = os.fstat(file.fileno())
        descriptor = os.open(
            target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, stat.S_IMODE(found.st_mode) | stat.S_IWUSR
        )
        try:
            if not _clone(descriptor, file.fileno()):
                left = found.st_size
                while left > 0:
                    sent = os.sendfile(descriptor, file.fileno(), None, min(left, 1 << 30))
                    if sent == 0:
                        raise OSError(errno.EIO, "became shorter while it was copied", source)
                    left -= sent
        finally:
            os.close(descriptor)


_no_clones: set[tuple[int, int]] = set()  # pairs of file systems between which reflinks are refused


def _clone(target: int, source: int) -> bool:
    pair = (os.fstat(source).st_dev, os.fstat(target).st_dev)
    if pair in _no_clones:
        return False
    try:
        fcntl.ioctl(target, FICLONE, source)
        return True
    except OSError:
        _no_clones.add(pair)
        return False


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> str:
    """In ticks since the boot; "" where there is no such process. With the boot's id and the pid it names a process for ever."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


@cache
def scratch_folder(chosen: str) -> Path:
    if chosen:
        return Path(os.path.expandvars(chosen)) / f"{FOLDER}-{os.getuid()}"
    found = os.environ.get("SLURM_TMPDIR") or tempfile.gettempdir()
    return Path(found) / f"{FOLDER}-{os.getuid()}"


class Scratch:
    """The directories of one process that runs members of one ensemble. Removed when the process ends."""

    def __init__(self, folder: Path, run: str, files: tuple[InputFile, ...]) -> None:
        self.files = files
        self.free: list[MemberDirectory] = []  # left by members, for others
        self.numbers = itertools.count()
        self.owner = os.getpid()
        self.prefix = "m"
        self.folder = folder / f"{run}-{socket.gethostname()}-{os.getpid()}"
        self.path = str(self.folder)
        self.shared: dict[str, os.stat_result] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise EnsembleError(f"{folder}: belongs to another user: choose another folder as `scratch` of [engine]")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        pid = os.getpid()
        owner = {"host": socket.gethostname(), "boot": boot_id(), "pid": pid, "start": start_time(pid), "run": run}
        beside = self.folder / f"{OWNER}.tmp"
        beside.write_text(json.dumps(owner))
        beside.rename(self.folder / OWNER)
        self._copy_read_only()
        atexit.register(self.remove)

    def joined(self) -> Scratch:
        """For a worker that the owner started: directories have names of its own, and the owner removes all."""
        found = copy.copy(self)
        found.free, found.numbers, found.prefix = [], itertools.count(), f"m{os.getpid()}-"
        return found

    def remove_of(self, worker: int) -> None:
        """What a worker left that was killed."""
        for path in self.folder.glob(f"m{worker}-*"):
            self.remove_member(str(path))

    def _copy_read_only(self) -> None:
        for file in self.files:
            if file.is_read_only:
                shared = self.folder / "inputs" / file.target
                shared.parent.mkdir(parents=True, exist_ok=True)
                shared.unlink(missing_ok=True)
                copy_file(file.source, str(shared))
                self.shared[file.target] = shared.stat()

    def take(self, min_free_mib: int, outputs: Collection[str] = ()) -> MemberDirectory:
        """A directory for one member, with its inputs. `outputs`: the files from which results are read. Raises MemberError."""
        directory: MemberDirectory | None = None
        try:
            space = os.statvfs(self.path)
            if space.f_bavail * space.f_frsize < min_free_mib * BYTES_PER_MIB:
                free = space.f_bavail * space.f_frsize // BYTES_PER_MIB
                raise MemberError("scratch", f"{self.folder}: {free} MiB are free, and [limits] min_free_mib = {min_free_mib}")
            try:
                directory, is_new = self.free.pop(), False
            except IndexError:
                directory, is_new = MemberDirectory(f"{self.path}/{self.prefix}{next(self.numbers)}"), True
                directory.make()
            for file in self.files:
                directory.add(file.target, partial(self._place, file), not file.is_read_only)
            directory.begin(is_new, outputs)
        except OSError as error:
            if directory is not None:
                self.remove_member(directory.path)
            raise MemberError("scratch", f"{error.filename or self.folder}: {error.strerror}") from None
        return directory

    def _place(self, file: InputFile, target: str) -> None:
        if file.is_read_only:
            os.link(f"{self.path}/inputs/{file.target}", target)
        else:
            copy_file(file.source, target)

    def give_back(self, directory: MemberDirectory, closed: Collection[str]) -> None:
        """The member has ended. `closed`: the files that nothing has open for writing, where the member was good."""
        try:
            if closed:
                directory.clean(closed)
                self.free.append(directory)
                return
        except (OSError, UntidyError):
            pass
        with contextlib.suppress(OSError):
            self.remove_member(directory.path)

    def changed_input(self) -> str:
        """The name of a read-only input that is not as it was copied; "" where all are. Root may write whatever the mode is."""
        for name, before in self.shared.items():
            try:
                now = (self.folder / "inputs" / name).stat()
            except OSError:
                return name
            if (now.st_size, now.st_mtime_ns, now.st_mode) != (before.st_size, before.st_mtime_ns, before.st_mode):
                return name
        return ""

    def remove_member(self, directory: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(directory, onerror=_make_writable)

    def remove(self) -> None:
        shutil.rmtree(self.folder, onerror=_make_writable)


def _make_writable(function: object, path: str, error: object) -> None:
    """Members may take away the modes of their own directories."""
    with contextlib.suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)
            shutil.rmtree(path)
        else:
            os.unlink(path)  # its mode stays: it may be a link to an input of all members


_made: dict[tuple[str, str, int], Scratch] = {}
_making = threading.Lock()


def scratch_of_process(chosen: str, run: str, files: tuple[InputFile, ...]) -> Scratch:
    """Made once for each process and run. Before, what processes that have ended left on this host's scratch is removed."""
    folder = scratch_folder(chosen)
    key = (str(folder), run, os.getpid())
    with _making:
        if key not in _made:
            sweep(folder)
            _made[key] = Scratch(folder, run, files)
        return _made[key]


def join_scratch(scratch: Scratch, run: str) -> None:
    """In a worker: the scratch of its parent, which owns it."""
    _made[str(scratch.folder.parent), run, os.getpid()] = scratch.joined()


def close_scratch(chosen: str, run: str) -> None:
    with _making:
        found = _made.pop((str(scratch_folder(chosen)), run, os.getpid()), None)
    if found is not None:
        atexit.unregister(found.remove)
        found.remove()


def sweep(folder: Path) -> list[Path]:
    """Removes what ended processes of this host left, with the processes that their members started. Another host's stays."""
    removed = []
    for path in _abandoned(folder):
        with contextlib.suppress(OSError, ValueError):
            end_processes_of(parse_json((path / OWNER).read_text())["run"] + f"/{path.name.rpartition('-')[2]}")
        shutil.rmtree(path, onerror=_make_writable)
        removed.append(path)
    return removed


def _abandoned(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        try:
            owner = parse_json((path / OWNER).read_text())
            here = owner["host"] == socket.gethostname()
            alive = owner["boot"] == boot_id() and start_time(int(owner["pid"])) == owner["start"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if here and not alive:
            yield path
