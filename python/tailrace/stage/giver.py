"""Delivers closed files of this node while the program runs: processes of other nodes want to open them, or scratch needs room."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tailrace.stage import given_names
from tailrace.stage.bundle_words import Move, names_in
from tailrace.stage.drain import name_of
from tailrace.stage.job_thread import JobThread
from tailrace.stage.name_groups import NameGroups, failures_of
from tailrace.stage.order import OtherNodes, StageOrder
from tailrace.stage.scratch_folder import STATE

MOST_UNDONE = 1000  # renames of folders that can be undone


class Outcome(Enum):
    GIVEN = "given"  # the file is at its target, or was not there any more
    NOT_WHOLE = "not whole"  # a process has it open for writing, or was killed when it had
    FAILED = "failed"


class Purpose(Enum):
    """Why a file is delivered."""

    ASKED = "asked"  # a process of another node wants it
    ROOM = "room"  # scratch has not enough room


@dataclass
class Sum:
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Result:
    outcome: Outcome
    why: str = ""  # it has failed
    names: tuple[str, ...] = ()  # that were asked for, each after a letter: f for a file, l for a symbolic link


@dataclass(frozen=True)
class _Job:
    path: str
    done: Callable[[Result], None]
    still: Callable[[], None]
    # Why the file is delivered. Or `path` is a folder, which is to be renamed, or (None) whose names are asked for.
    purpose: Purpose | Move | None


class Giver:
    """Delivers files of one scratch folder, whose lock this process holds. Starts `tailraced give` with the first file."""

    def __init__(self, scratch: str, order: StageOrder, node: str) -> None:
        self._scratch, self._base, self._log, self._node = scratch, order.base, Path(order.log), node
        self.delivered = {purpose: Sum() for purpose in Purpose}
        self._is_noted = order.other_nodes is OtherNodes.ASKED
        self._torn: Callable[[], frozenset[str]] | None = None
        self._moved: deque[tuple[str, str]] = deque(maxlen=MOST_UNDONE)  # folders, and their new names
        self._torn_inodes: dict[str, int] = {}  # by the names that the files had when their process was killed
        self._groups = NameGroups("give", scratch, order.base)
        self._jobs = JobThread(self._give_jobs, self._groups.end)

    def has(self, path: str) -> bool:
        """Whether scratch has a file of this name, closed or not."""
        if not _is_below(path):
            return False
        try:
            return stat.S_ISREG(os.lstat(os.path.join(self._scratch, path)).st_mode)
        except (OSError, ValueError):
            return False

    def give(self, path: str, done: Callable[[Result], None], still: Callable[[], None], purpose: Purpose = Purpose.ASKED) -> None:
        """Delivers the file, then calls `done`. Until then calls `still` every STILL_S seconds. Does not wait."""
        if self._jobs.is_over or not _is_below(path):
            done(Result(Outcome.FAILED, "the run has ended"))
        else:
            self._jobs.put(_Job(path, done, still, purpose))

    def names_in(self, folder: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """Calls `done` with the names of the closed files in a folder on scratch ("": scratch itself). Does not wait."""
        if self._jobs.is_over or (folder and not _is_below(folder)):
            done(Result(Outcome.FAILED, "the run has ended"))
        elif not self._has_files(folder):
            done(Result(Outcome.GIVEN))
        else:
            self._jobs.put(_Job(folder, done, still, None))

    def move(self, move: Move, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """Renames a folder on scratch if there is one, then calls `done`. No file is delivered in that moment. Does not wait."""
        if self._jobs.is_over or not (_is_below(move.source) and _is_below(move.to)):
            done(Result(Outcome.FAILED, "the run has ended"))
        else:
            self._jobs.put(_Job(move.source, done, still, move))

    def _has_files(self, folder: str) -> bool:
        """Quickly, because most folders that are listed have none."""
        try:
            with os.scandir(os.path.join(self._scratch, folder)) as entries:
                return any(not entry.is_dir(follow_symlinks=False) for entry in entries)
        except (OSError, ValueError):
            return False

    def end(self) -> None:
        """Ends when the files that were asked for before are delivered."""
        self._jobs.end()

    def _give_jobs(self, jobs: Sequence[_Job]) -> None:
        for job in jobs:
            if isinstance(job.purpose, Move):
                job.done(self._move(job.purpose))
        self._list_all([job for job in jobs if job.purpose is None])
        for purpose in Purpose:
            self._give_all([job for job in jobs if job.purpose is purpose], purpose)

    def _list_all(self, jobs: Sequence[_Job]) -> None:
        results: dict[str, Result] = {}
        for job in jobs:
            if job.path not in results:
                results[job.path] = self._names_in(job.path)
            job.done(results[job.path])

    def _move(self, move: Move) -> Result:
        names = (move.source, move.to)
        try:
            if move.is_back:
                if names in self._moved:
                    self._moved.remove(names)
                    os.rename(self._path(move.to), self._path(move.source))
            elif self._is_folder(move.source):
                self._make_folder(os.path.dirname(move.to))
                os.rename(self._path(move.source), self._path(move.to))
                self._moved.append(names)
        except Exception as error:  # processes wait for an answer, whatever has happened
            return Result(Outcome.FAILED, f"{move.source} cannot be renamed to {move.to} on scratch: {error}")
        return Result(Outcome.GIVEN)

    def _path(self, below: str) -> str:
        return os.path.join(self._scratch, below)

    def _is_folder(self, below: str) -> bool:
        with contextlib.suppress(OSError, ValueError):
            return stat.S_ISDIR(os.lstat(self._path(below)).st_mode)
        return False

    def _make_folder(self, below: str) -> None:
        """Makes a folder on scratch, as it is at the target."""
        if not below or self._is_folder(below):
            return
        self._make_folder(os.path.dirname(below))
        there = os.lstat(os.path.join(self._base, below))
        os.mkdir(self._path(below), 0o700)
        os.chown(self._path(below), -1, there.st_gid)
        os.chmod(self._path(below), stat.S_IMODE(there.st_mode))

    def _names_in(self, folder: str) -> Result:
        try:
            names = [name_of(name) for name in self._groups.ask([names_in(folder)])["names"]]
            torn = self._torn_among([os.path.join(folder, name) for name in names])
            return Result(Outcome.GIVEN, names=tuple(f"f{name}" for name in names if os.path.join(folder, name) not in torn))
        except Exception as error:  # processes wait for an answer, whatever has happened
            return Result(Outcome.FAILED, str(error))

    def _give_all(self, jobs: Sequence[_Job], purpose: Purpose) -> None:
        if not jobs:
            return
        paths = list(dict.fromkeys(job.path for job in jobs if self.has(job.path)))
        try:
            results = self._deliver(paths, self.delivered[purpose])
        except Exception as error:  # processes wait for an answer, whatever has happened
            results = dict.fromkeys(paths, Result(Outcome.FAILED, str(error)))
        for job in jobs:
            job.done(results.get(job.path, Result(Outcome.GIVEN)))

    def _deliver(self, paths: Sequence[str], to: Sum) -> dict[str, Result]:
        torn = self._torn_among(paths)
        whole = [path for path in paths if path not in torn]
        results = {path: Result(Outcome.NOT_WHOLE) for path in paths if path in torn}
        if not whole:
            return results
        if self._is_noted:
            for path in whole:
                given_names.note(self._log, self._node, path)  # before anybody can open the file at the target
        try:
            results |= self._carry(whole, to)
        except BaseException:
            self._forget(whole)
            raise
        self._forget([path for path in whole if path in results])
        return results

    def _forget(self, paths: Sequence[str]) -> None:
        for path in paths if self._is_noted else ():
            given_names.forget(self._log, path)

    def _torn_among(self, paths: Sequence[str]) -> frozenset[str]:
        """Those that a killed process had open for writing, under whatever name they are now."""
        if not paths:
            return frozenset()
        for name in self._torn_names():
            if name not in self._torn_inodes and (inode := self._inode_of(name)):
                self._torn_inodes[name] = inode
        inodes = set(self._torn_inodes.values())
        return frozenset(path for path in paths if inodes and self._inode_of(path) in inodes)

    def _inode_of(self, path: str) -> int:
        """0: there is no such file on scratch."""
        with contextlib.suppress(OSError, ValueError):
            return os.lstat(self._path(path)).st_ino
        return 0

    def _torn_names(self) -> frozenset[str]:
        if self._torn is None:
            from tailrace.trace.torn import TornSoFar

            self._torn = TornSoFar(Path(self._base), self._log).names
        return self._torn()

    def _carry(self, paths: Sequence[str], to: Sum) -> dict[str, Result]:
        """The results of those that were not delivered. Raises StageError, OSError."""
        answer = self._groups.ask(paths)
        to.files += answer["files"]
        to.bytes += answer["bytes"]
        results = {name_of(one): Result(Outcome.NOT_WHOLE) for one in answer["open"]}
        return results | {name: Result(Outcome.FAILED, why) for name, why in failures_of(answer).items()}


def _is_below(path: str) -> bool:
    """Whether this is the path of a file of the program below scratch."""
    parts = path.split("/")
    return path != "" and not {"", ".", ".."} & set(parts) and not parts[0].startswith(STATE) and "\0" not in path
