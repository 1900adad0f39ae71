"""A thread that works for processes which wait for answers."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

STILL_S = 2.0  # time between calls of `still`


class Waiting(Protocol):
    """A job for whose end a process waits."""

    @property
    def still(self) -> Callable[[], None]: ...


Job = TypeVar("Job", bound=Waiting)


class JobThread(Generic[Job]):
    """Calls `work` with all jobs that are there at the moment, again and again, and `ended` after the last ones. Calls `still` of
    each job that is not done every STILL_S seconds, also of those that wait for their turn."""

    def __init__(self, work: Callable[[Sequence[Job]], None], ended: Callable[[], None]) -> None:
        self._work, self._ended = work, ended
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()  # None: there are no more
        self._not_done: dict[int, Job] = {}  # by id()
        self._is_over = threading.Event()
        # RATIONALE: the kernel ends tailraced when the thread ends that has started it.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        threading.Thread(target=self._say_still, daemon=True).start()

    @property
    def is_over(self) -> bool:
        return self._is_over.is_set()

    def put(self, job: Job) -> None:
        self._not_done[id(job)] = job
        self._jobs.put(job)

    def end(self) -> None:
        """Ends when the jobs of before are done."""
        self._is_over.set()
        self._jobs.put(None)
        self._thread.join()

    def _say_still(self) -> None:
        while not self._is_over.wait(STILL_S):
            for job in list(self._not_done.values()):
                job.still()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            jobs = [self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    jobs.append(self._jobs.get_nowait())
            is_last = None in jobs
            now = [job for job in jobs if job is not None]
            self._work(now)
            for job in now:
                del self._not_done[id(job)]
        self._ended()
