"""Delivers closed files while the program runs, so that the scratch of a node has room for new ones."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import signal
import stat
import threading
import time
from dataclasses import dataclass
from functools import partial

from tailrace.stage.giver import Giver, Outcome, Purpose, Result
from tailrace.stage.scratch_folder import files_of

LOOK_S = 0.5  # between looks at the free space
SHARE_OF_TIME = 20  # a pause lasts so many times as long as the look at all files before it
QUIET_S = 2.0  # a file that was changed later than this is not delivered
AGAIN_S = 30.0  # until a file that could not be delivered is tried again
MOST_FAILURES = 3
LARGE_BYTES = 64 << 10  # files of less are delivered if larger ones do not make enough room
MOST_FILES, MOST_BYTES = 256, 1 << 30  # at once: other nodes may be waiting for a file


@dataclass(frozen=True)
class _File:
    path: str
    bytes: int
    changed_ns: int


class RoomMaker:
    """While less than `room_bytes` are free where scratch is, delivers files that no process has open, oldest first."""

    def __init__(self, scratch: str, room_bytes: int, giver: Giver) -> None:
        self._scratch, self._room_bytes, self._giver = scratch, room_bytes, giver
        self.stopped_because = ""  # after several errors; "": it has not stopped
        self._not_before: dict[str, float] = {}  # by path: when a file may be tried again
        self._failures = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Does not wait for files that are being delivered: Giver.end does."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        pause_s = LOOK_S
        while not self._is_over.wait(pause_s) and not self.stopped_because:
            began = time.monotonic()
            try:
                files = self._chosen(self._missing_bytes())
                took_s = time.monotonic() - began
                if files:
                    self._deliver(files)
            except OSError as error:  # of the scratch folder: the end of the run reports it
                self._failed(str(error))
                took_s = time.monotonic() - began
            pause_s = max(LOOK_S, SHARE_OF_TIME * took_s)

    def _missing_bytes(self) -> int:
        has = os.statvfs(self._scratch)
        return self._room_bytes - has.f_bavail * has.f_frsize

    def _chosen(self, missing_bytes: int) -> list[_File]:
        """Files that together free so many bytes, or all that there are; not more than one group has."""
        chosen: list[_File] = []
        chosen_bytes = 0
        if missing_bytes <= 0:
            return chosen
        for file in sorted(self._closed_files(), key=lambda file: (file.bytes < LARGE_BYTES, file.changed_ns)):
            if chosen_bytes >= min(missing_bytes, MOST_BYTES) or len(chosen) >= MOST_FILES:
                break
            if _is_open_nowhere(os.path.join(self._scratch, file.path)):
                chosen.append(file)
                chosen_bytes += file.bytes
        return chosen

    def _closed_files(self) -> list[_File]:
        now_s, latest_ns = time.monotonic(), time.time_ns() - int(QUIET_S * 1e9)
        self._not_before = {path: until_s for path, until_s in self._not_before.items() if until_s > now_s}
        found = []
        for path in files_of(self._scratch):
            try:
                is_now = os.lstat(os.path.join(self._scratch, path))
            except OSError:
                continue
            is_alone = stat.S_ISREG(is_now.st_mode) and is_now.st_nlink == 1
            if is_alone and is_now.st_ctime_ns <= latest_ns and path not in self._not_before:
                found.append(_File(path, is_now.st_size, is_now.st_ctime_ns))
        return found

    def _deliver(self, files: list[_File]) -> None:
        results: queue.SimpleQueue[tuple[str, Result]] = queue.SimpleQueue()
        for file in files:
            self._giver.give(file.path, partial(_note, results, file.path), _ignore, Purpose.ROOM)
        problems = []
        for _ in files:
            if (done := self._next(results)) is None:
                return
            path, result = done
            if result.outcome is not Outcome.GIVEN:
                self._not_before[path] = time.monotonic() + AGAIN_S
            if result.outcome is Outcome.FAILED:
                problems.append(f"{path}: {result.why}")
        if problems:
            self._failed(problems[0])
        else:
            self._failures = 0

    def _next(self, results: queue.SimpleQueue[tuple[str, Result]]) -> tuple[str, Result] | None:
        """None: the run is over."""
        while not self._is_over.is_set():
            with contextlib.suppress(queue.Empty):
                return results.get(timeout=LOOK_S)
        return None

    def _failed(self, why: str) -> None:
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self.stopped_because = why


def _note(results: queue.SimpleQueue[tuple[str, Result]], path: str, result: Result) -> None:
    results.put((path, result))


def _ignore() -> None:
    """No process waits for this file."""


def _is_open_nowhere(path: str) -> bool:
    """Whether no process has the file open, also for reading: it would not see what is written to the file at the target. True
    where the file system does not know; then the drain looks for writers."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # RATIONALE: SIGIO, which the kernel sends without this if a process opens the file at this moment, would end the run.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return True
