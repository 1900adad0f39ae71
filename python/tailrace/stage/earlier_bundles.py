"""Files that earlier runs have delivered in bundles: each is taken out of its bundle when the program names it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailrace.place.files import RUN_FILE
from tailrace.stage.drain import StageError, answers
from tailrace.stage.giver import Outcome, Result
from tailrace.stage.name_groups import NameGroups, failures_of

STILL_S = 2.0  # time between calls of `still`
LIST_HEAD_BYTES, HASH_BYTES = 32, 8  # src/place/bundled_names.hpp


def write_names(log: Path, bundles: str, *, asks_other_nodes: bool) -> int:
    """Writes the list of the names in bundles of the folder `bundles`, which the preload reads. Returns how many they are. Raises
    StageError."""
    path = log / f"{RUN_FILE}.bundled"
    for _ in answers("names", bundles, str(path), *(["--asks-other-nodes"] if asks_other_nodes else [])):
        return (path.stat().st_size - LIST_HEAD_BYTES) // HASH_BYTES
    raise StageError(f"tailraced ended while it read the bundles of {bundles}, without an error message: run the command again")


@dataclass(frozen=True)
class _Job:
    path: str
    done: Callable[[Result], None]
    still: Callable[[], None]


class EarlierBundles:
    """Takes files out of the bundles of a folder, and makes them below `base`. Starts tailraced with the first file."""

    def __init__(self, bundles: str, base: str) -> None:
        self._groups = NameGroups("take", bundles, base)
        self.failures: dict[str, str] = {}  # by name: why it was not taken
        self.files, self.bytes = 0, 0  # that were taken out
        self.forgotten = 0  # files of folders that the program has removed
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()  # None: there are no more
        self._working: _Job | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        threading.Thread(target=self._say_still, daemon=True).start()

    def take(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """Calls `done` when the file is at its name, or no bundle has it. Until then calls `still` now and then. Does not wait."""
        if self._is_over.is_set():
            done(Result(Outcome.FAILED, "the run has ended"))
        else:
            self._jobs.put(_Job(path, done, still))

    def end(self) -> None:
        """Ends when the files that were asked for before are there."""
        self._is_over.set()
        self._jobs.put(None)
        self._thread.join()

    def _say_still(self) -> None:
        while not self._is_over.wait(STILL_S):
            if (job := self._working) is not None:
                job.still()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._working = job
            job.done(self._take(job.path))
            self._working = None
        self._groups.end()

    def _take(self, path: str) -> Result:
        try:
            answer = self._groups.ask([path])
            self.files += answer["files"]
            self.bytes += answer["bytes"]
            self.forgotten += answer["forgotten"]
            why = next(iter(failures_of(answer).values()), "")
        except Exception as error:  # a process waits for an answer, whatever has happened
            why = str(error)
        if not why:
            return Result(Outcome.GIVEN)
        self.failures[path] = why
        return Result(Outcome.FAILED, why)
