"""The process that copies closed files to the target while a program runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading

from tailrace.stage.drain import program

MOST_STARTS = 3
KILL_S = 10.0  # seconds to wait for the killed process to end; it takes longer if its device does not answer


class Beside:
    """The copying process. It gives no copy its name and removes no file, so `stop` may kill it at any moment. If it ends early, it
    is started again; the drain at the end of the run copies the rest. It ends when this process ends."""

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
