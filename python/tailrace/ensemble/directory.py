"""A member's directory on scratch. After a member that did not fail, the next member uses the directory and its inputs again.

Inputs that a member has not changed stay for the next one, because making and removing files takes longer than checking them. Inode
number, mode, links, size and times of the file must be those after it was copied. The kernel must grant a lease on the file, which
shows that no process has it open for writing. Times are trusted only if the kernel's clock has advanced since the copy was made,
because two changes within one tick have the same time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

LOG = "tailrace-member.log"  # standard output and error of the command, in the member's directory
COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux: the clock of the times of files
MOST_TICK_S = 0.05
Stamp = tuple[int, ...]


class UntidyError(Exception):
    """Raised if a member changed the directory itself. Then no other member uses it."""


def stamp_of(found: os.stat_result) -> Stamp:
    return (found.st_ino, found.st_mode, found.st_nlink, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@dataclass
class MemberDirectory:
    """`copies`: the inputs that are copies, each with its state after copying (see stamp_of); an empty stamp: do not use it
    again."""

    path: str
    copies: dict[str, Stamp] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)  # the inputs that are hard links, each with its inode number
    folders: dict[str, tuple[object, ...]] = field(default_factory=dict)
    top: Stamp = ()
    log: Stamp = ()

    def make(self) -> None:
        os.mkdir(self.path)
        self._note_folder("")

    def make_folder(self, name: str) -> None:
        """Makes a folder of inputs, and its parent folders, if they do not exist yet."""
        if name not in self.folders:
            self.make_folder(os.path.dirname(name))
            os.mkdir(os.path.join(self.path, name))
            self._note_folder(name)

    def _note_folder(self, name: str) -> None:
        self.folders[name] = self._state_of(name)

    def _state_of(self, name: str) -> tuple[object, ...]:
        path = os.path.join(self.path, name)
        found = os.lstat(path)
        return (found.st_ino, found.st_mode, found.st_uid, *_extended(path))

    def add(self, name: str, make: Callable[[str], None], is_copy: bool) -> None:
        """Adds an input that the directory does not have yet. `make(path)` makes the file."""
        if name in (self.copies if is_copy else self.links):
            return
        self.make_folder(os.path.dirname(name))
        path = os.path.join(self.path, name)
        make(path)
        found = os.lstat(path)
        if is_copy:
            self.copies[name] = stamp_of(found)
        else:
            self.links[name] = found.st_ino

    def begin(self, is_new: bool, outputs: Collection[str] = ()) -> None:
        """Called when all inputs exist. Makes the log. If the directory is new, or a new copy is also one of `outputs`, waits for
        the next tick of the kernel's clock, at most MOST_TICK_S."""
        path = os.path.join(self.path, LOG)
        if not self.log:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
            self.log = stamp_of(os.lstat(path))
        self.top = stamp_of(os.lstat(self.path))
        newest = max(self.top[-1], self.log[-1], *(stamp[-1] for stamp in self.copies.values() if stamp), 0)
        now_ns, end = time.clock_gettime_ns(COARSE_CLOCK), time.monotonic() + MOST_TICK_S
        must_wait = is_new or any(self.copies.get(name, (0,))[-1] >= now_ns for name in outputs)
        while must_wait and now_ns <= newest and time.monotonic() < end:
            time.sleep(0.0005)
            now_ns = time.clock_gettime_ns(COARSE_CLOCK)
        if now_ns <= newest:
            for name, stamp in self.copies.items():
                if stamp and stamp[-1] >= now_ns:
                    self.copies[name] = ()
            self.top = () if self.top[-1] >= now_ns else self.top

    def is_untouched(self, name: str) -> bool:
        """Whether the file is an input that the command has not written. False if that is not known."""
        try:
            found = os.lstat(os.path.join(self.path, name))
        except OSError:
            return False
        return found.st_ino == self.links[name] if name in self.links else stamp_of(found) == self.copies.get(name)

    def clean(self, closed: Collection[str]) -> None:
        """Removes the files of a member, except unchanged inputs. `closed`: the files that no process has open for writing. Raises
        UntidyError, OSError."""
        if LOG not in closed:
            raise UntidyError
        if self.top and self.top == stamp_of(os.lstat(self.path)) and len(self.folders) == 1:
            here: Iterable[str] = [*self.copies, LOG]  # no name was made, removed or changed
            for name in here:
                self._keep_or_remove(name, os.lstat(os.path.join(self.path, name)), closed)
            return
        seen: set[str] = set()
        self._clean_folder("", closed, seen)
        for names in (self.copies, self.links):
            for name in set(names) - seen:
                del names[name]
        if LOG not in seen:
            self.log = ()

    def _clean_folder(self, folder: str, closed: Collection[str], seen: set[str]) -> None:
        if self._state_of(folder) != self.folders[folder]:
            raise UntidyError
        with os.scandir(os.path.join(self.path, folder)) as entries:
            found = list(entries)
        for entry in found:
            name = os.path.join(folder, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and name in self.folders:
                self._clean_folder(name, closed, seen)
            elif is_folder:
                shutil.rmtree(entry.path)
            elif name in self.copies or name in self.links or name == LOG:
                if self._keep_or_remove(name, entry.stat(follow_symlinks=False), closed):
                    seen.add(name)
            else:
                os.unlink(entry.path)
        if folder and not os.path.isdir(os.path.join(self.path, folder)):
            raise UntidyError

    def _keep_or_remove(self, name: str, found: os.stat_result, closed: Collection[str]) -> bool:
        path = os.path.join(self.path, name)
        if name == LOG:
            if name in closed and (found.st_ino, found.st_mode, found.st_nlink) == self.log[:3] and stat.S_ISREG(found.st_mode):
                if found.st_size:
                    os.truncate(path, 0)
                return True
        elif name in self.links:
            if found.st_ino == self.links[name]:
                return True
        elif name in closed and stamp_of(found) == self.copies[name]:
            return True
        os.unlink(path)
        if name == LOG:
            self.log = ()
        else:
            self.copies.pop(name, None)
        return False


def _extended(path: str) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(os.listxattr(path, follow_symlinks=False))
    return []
