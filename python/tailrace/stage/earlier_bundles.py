"""Files that earlier runs have delivered in bundles: each is taken out of its bundle when the program names it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.place.files import RUN_FILE
from tailrace.stage.drain import StageError, answers, name_of
from tailrace.stage.giver import Outcome, Result
from tailrace.stage.job_thread import JobThread
from tailrace.stage.name_groups import NameGroups, failures_of


def write_names(log: Path, bundles: str, *, asks_other_nodes: bool) -> None:
    """Writes the list of the names in bundles of the folder `bundles`, which the preload reads. Raises StageError."""
    path = log / f"{RUN_FILE}.bundled"
    if list(answers("names", bundles, str(path), *(["--asks-other-nodes"] if asks_other_nodes else []))):
        return
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
        self._jobs = JobThread(self._take_jobs, self._groups.end)

    def take(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """Calls `done` when the file is at its name, or no bundle has it. Until then calls `still` now and then. Does not wait."""
        if self._jobs.is_over:
            done(Result(Outcome.FAILED, "the run has ended"))
        else:
            self._jobs.put(_Job(path, done, still))

    def end(self) -> None:
        """Ends when the files that were asked for before are there."""
        self._jobs.end()

    def _take_jobs(self, jobs: Sequence[_Job]) -> None:
        for job in jobs:
            job.done(self._take(job.path))

    def _take(self, path: str) -> Result:
        try:
            answer = self._groups.ask([path])
            self.files += answer["files"]
            self.bytes += answer["bytes"]
            names = tuple(f"{'l' if is_link else 'f'}{name_of(name)}" for name, is_link in answer["names"])
            why = next(iter(failures_of(answer).values()), "")
        except Exception as error:  # a process waits for an answer, whatever has happened
            why, names = str(error), ()
        if not why:
            return Result(Outcome.GIVEN, names=names)
        self.failures[path] = why
        return Result(Outcome.FAILED, why)
