"""The process that copies closed files to the target while a program runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading

from tailrace.stage.drain import program

MOST_STARTS = 3
KILL_S = 10.0  # that a killed process has to end; one that waits for a device which does not answer may take longer


class Beside:
    """It makes nothing visible and frees nothing, so `stop` may kill it at any moment. Its death is no error: it is started again,
    and the drain at the end of the run does what it did not do. It ends with this process."""

    def __init__(self, scratch: str, target: str) -> None:
        self._words = [program(), "beside", scratch, target, "--parent", str(os.getpid())]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        # RATIONALE: the kernel ends the process when the thread ends that has started it.
        self._thread = threading.Thread(target=self._keep_running, daemon=True)
        self._thread.start()

    def _keep_running(self) -> None:
        for _ in range(MOST_STARTS):
            with self._lock:
                if self._is_over:
                    return
                try:
                    # A session of its own: a signal of the terminal is for the program, which may handle it.
                    self._process = subprocess.Popen(
                        self._words,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        start_new_session=True,
                    )
                except OSError:
                    return
            self._process.wait()

    def stop(self) -> None:
        with self._lock:
            self._is_over = True
            if self._process is not None:
                with contextlib.suppress(OSError):
                    self._process.kill()
        self._thread.join(KILL_S)
