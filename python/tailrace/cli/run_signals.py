"""SIGINT and SIGTERM of `tailrace run`. Imports little, because these imports delay the start of each program."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from types import FrameType

from tailrace.plain_text import plain


class RunSignals:
    """While the program runs, it decides how it ends: it gets SIGINT from the terminal, and SIGTERM from here. When it has ended,
    the first signal calls `interrupt`; if that returns False, or a second signal comes, this process ends at once."""

    def __init__(self, process: subprocess.Popen[bytes], interrupt: Callable[[int], bool]) -> None:
        self._process, self._interrupt = process, interrupt
        self._is_running, self._is_interrupted = True, False
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def __enter__(self) -> RunSignals:
        for number, before in self._before.items():
            if before is not signal.SIG_IGN:
                signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def program_has_ended(self) -> None:
        self._is_running = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self._is_running:
            if number == signal.SIGTERM:  # batch systems send it to the first process only
                self._process.send_signal(number)
        elif self._is_interrupted or not self._interrupt(number):
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            self._is_interrupted = True


def say_in_handler(text: str) -> None:
    """Prints a line to standard error. A handler of signals must not use sys.stderr, which this thread may be writing to."""
    os.write(2, (plain(text) + "\n").encode(errors="backslashreplace"))
