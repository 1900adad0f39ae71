"""Memory limits by the kernel: a control group for each worker, in which the processes of its member run.

The files are those of cgroups(7): version 2 (memory.max, memory.events, memory.stat) or version 1 (memory.limit_in_bytes,
memory.oom_control, memory.stat). Where the user may write below the group of this process, a group can be made: root may, and users
after `systemd-run --user --scope -p Delegate=yes`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.ensemble.memory import POLL_S, MemoryLimit, MemoryWatch, Pids
from tailrace.ensemble.values import EnsembleError, Limits

ROOT = Path("/")  # tests put a model of the kernel's files elsewhere
PREFIX = "tailrace-"
LEAF = PREFIX + "parent"  # version 2: a group that has groups with limits below it has no processes of its own; they are here
PROCESSES = "cgroup.procs"
KILLS = "oom_kill"
CGROUP, WATCH = "cgroup", "watch"  # choices of [limits] memory_by


@dataclass(frozen=True)
class Version:
    """What the two versions call the same things."""

    number: int
    limits: tuple[str, ...]  # files that get the limit in bytes; those after the first may be missing
    others: tuple[tuple[str, str], ...]  # files and what is written into them, which may be missing
    events: str  # a file with the number of processes that the kernel has killed for lack of memory
    resident: str  # the entry of memory.stat with the bytes that belong to processes, without files


V1 = Version(1, ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), (), "memory.oom_control", "rss")
# Without swap, as a watched limit; and the kernel ends all processes of a member, not one of them.
V2 = Version(2, ("memory.max",), (("memory.swap.max", "0"), ("memory.oom.group", "1")), "memory.events", "anon")


class NoGroupError(Exception):
    """No group can be made here. The text says why."""


@dataclass(frozen=True)
class Place:
    """Where groups are made, and where the worker is while no member runs."""

    version: Version
    above: Path
    home: Path


class MemoryGroup(MemoryLimit):
    """The control group of this process's members. The limit is kept by the kernel, for the sum of all processes in the group."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.kept_by = f"cgroup version {place.version.number}"
        self._place = place
        self._path = place.above / f"{PREFIX}{os.getpid()}"
        self._most_bytes = 0
        self._kills = self._kills_before = 0  # processes of the group that the kernel has ended: now, and before this member

    @contextlib.contextmanager
    def joined(self, most_bytes: int) -> Iterator[None]:
        """Children that begin in this block are in the group, which has this limit. Raises OSError."""
        self.peak_bytes = 0
        self._kills_before = self._kills
        try:
            if most_bytes != self._most_bytes:
                self._make(most_bytes)
            _write(self._path / PROCESSES, str(os.getpid()))
        except FileNotFoundError:  # an empty group may be removed at any time
            self._make(most_bytes)
            _write(self._path / PROCESSES, str(os.getpid()))
        try:
            yield
        finally:
            _write(self._place.home / PROCESSES, str(os.getpid()))

    def _make(self, most_bytes: int) -> None:
        self._path.mkdir(exist_ok=True)
        self._limit(most_bytes)
        self._most_bytes = most_bytes
        self._kills = self._kills_before = _entry(self._path / self._place.version.events, KILLS)

    def _limit(self, most_bytes: int) -> None:
        """A limit of memory must never be above that of memory and swap, so a larger one is written in the other order."""
        first, *others = self._place.version.limits
        files = [first, *(name for name in others if (self._path / name).exists())]
        for name in [*files, *files]:
            with contextlib.suppress(OSError):
                _write(self._path / name, str(most_bytes))
        if (found := int((self._path / first).read_text())) > most_bytes:
            raise OSError(None, f"the kernel keeps {found} bytes instead of {most_bytes}", str(self._path / first))
        for name, value in self._place.version.others:
            with contextlib.suppress(OSError):
                _write(self._path / name, value)

    def interval_s(self, left_s: float) -> float:
        return min(left_s, POLL_S)

    def is_over(self, _pids: Pids) -> bool:
        self.peak_bytes = max(self.peak_bytes, _entry(self._path / "memory.stat", self._place.version.resident))
        return self.has_killed()

    def has_killed(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            self._kills = _entry(self._path / self._place.version.events, KILLS)
        return self._kills > self._kills_before

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.rmdir()


def _entry(path: Path, key: str) -> int:
    """The number after a key in one of the kernel's tables. Raises OSError if it is not there."""
    for line in path.read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    raise OSError(None, f"has no entry {key}: this kernel is too old", str(path))


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


@functools.cache
def memory_limit(by: str) -> MemoryLimit:
    """This worker's limit, as `[limits] memory_by` wants it. Raises NoGroupError."""
    if by == WATCH:
        return MemoryWatch()
    try:
        group = MemoryGroup(place())
    except NoGroupError:
        if by == CGROUP:
            raise
        return MemoryWatch()
    atexit.register(group.remove)
    return group


def prepare(limits: Limits) -> str:
    """Says how members' memory is limited. The ensemble's own process must call this before it starts workers. Raises
    EnsembleError."""
    if not limits.memory_mib:
        return "none"
    why = ""
    if limits.memory_by != WATCH:
        try:
            return f"{limits.memory_mib} MiB, kept by the kernel (cgroup version {place().version.number})"
        except NoGroupError as error:
            if limits.memory_by == CGROUP:
                raise EnsembleError(f'[limits] memory_by = "{CGROUP}": no control group can be made here: {error}') from None
            why = f"; no control group: {error}"
    return f"{limits.memory_mib} MiB, watched every {POLL_S * 1000:.0f} ms{why}"


@functools.cache
def place() -> Place:
    """Where this process can make groups; tried once. In version 2 the ensemble's own process moves itself into a group beside
    those of its workers. Raises NoGroupError."""
    try:
        found = _place()
        _remove_abandoned(found.above)
        group = MemoryGroup(found)
        with group.joined(1 << 40):
            pass
        group.remove()
    except (OSError, ValueError) as error:
        raise NoGroupError(_text_of(error)) from None
    return found


def _text_of(error: OSError | ValueError) -> str:
    if isinstance(error, PermissionError):
        return f"{error.filename} belongs to another user (try: systemd-run --user --scope -p Delegate=yes COMMAND)"
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def _place() -> Place:
    own = _own_group("memory")
    if own is not None:
        return Place(V1, own, own)
    own = _own_group("")
    if own is None:
        raise NoGroupError("no control groups are mounted")
    if own.name == LEAF:
        return Place(V2, own.parent, own)
    if "memory" not in (own / "cgroup.controllers").read_text().split():
        raise NoGroupError(f"{own} has no memory controller")
    _move_into_leaf(own)
    return Place(V2, own, own / LEAF)


def _move_into_leaf(own: Path) -> None:
    """Version 2 gives limits to groups only below one without processes of its own. So this process moves, if it is alone."""
    present = [int(word) for word in (own / PROCESSES).read_text().split()]
    if others := [pid for pid in present if pid != os.getpid()]:
        raise NoGroupError(
            f"{own} has other processes, such as {others[0]} (try: systemd-run --user --scope -p Delegate=yes COMMAND)"
        )
    leaf = own / LEAF
    leaf.mkdir(exist_ok=True)
    _write(leaf / PROCESSES, str(os.getpid()))
    try:
        _write(own / "cgroup.subtree_control", "+memory")
    except OSError:
        _write(own / PROCESSES, str(os.getpid()))
        leaf.rmdir()
        raise


def _own_group(controller: str) -> Path | None:
    """The folder of this process's group in the hierarchy of a controller of version 1, or in that of version 2 if it is ""."""
    for line in (ROOT / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return _folder_of(controller, path)
    return None


def _folder_of(controller: str, path: str) -> Path | None:
    for line in (ROOT / "proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, mount_point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if (kind == "cgroup" and controller in options.split(",")) if controller else kind == "cgroup2":
            inside = path[len(root) :] if root != "/" and path.startswith(root) else path
            return ROOT / mount_point.lstrip("/") / inside.lstrip("/")
    return None


def _remove_abandoned(above: Path) -> None:
    """Groups of workers that have ended. One with a process in it cannot be removed."""
    for path in above.glob(PREFIX + "*"):
        number = path.name[len(PREFIX) :]
        if number.isdigit() and not os.path.exists(f"/proc/{number}"):
            with contextlib.suppress(OSError):
                path.rmdir()
