"""The time limit of a job: files that are not delivered are named before the job ends."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime

VARIABLE = "SLURM_JOB_END_TIME"  # seconds since 1970; not in Slurm before 23.02
JOB = "SLURM_JOB_ID"
BEFORE_S = (60.0, 20.0, 0.0)  # Slurm sends SIGTERM at the end, and SIGKILL 30 s later
SQUEUE_TIMEOUT_S = 20
LAST_WORDS_S = 2.0  # `end` waits so long for a call that has begun


def end_of_job(environment: Mapping[str, str] = os.environ) -> float | None:
    """The end of the job of Slurm, in seconds since 1970. None: there is no job, or it has no limit, or squeue fails."""
    text = environment.get(VARIABLE, "")
    if text.isdecimal():
        return float(text)
    if not (job := environment.get(JOB)):
        return None
    try:
        words = ["squeue", "--noheader", "--jobs", job, "--format", "%e"]
        done = subprocess.run(words, env=dict(environment), capture_output=True, text=True, timeout=SQUEUE_TIMEOUT_S, check=False)
        return datetime.fromisoformat(done.stdout.strip()).timestamp()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


class JobEnd:
    """Calls `name_left` 60 s and 20 s before the job ends, and at its end, with the seconds that are left; from `begin` until
    `end`. Never if the end of the job is not known."""

    def __init__(self, name_left: Callable[[float], None], end_of: Callable[[], float | None] = end_of_job) -> None:
        self._name_left, self._end_of = name_left, end_of
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        end_s = self._end_of()
        if end_s is None:
            return
        for before_s in BEFORE_S:
            left_s = end_s - before_s - time.time()
            if left_s < 0 and before_s > 0:
                continue
            if self._is_over.wait(max(left_s, 0.0)):
                return
            self._name_left(max(end_s - time.time(), 0.0))

    def end(self) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(LAST_WORDS_S)
