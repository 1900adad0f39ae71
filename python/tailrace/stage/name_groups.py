"""A tailraced that works for one command: it gets groups of names, and answers each group."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from tailrace.stage.drain import StageError, name_of, program

END_S = 10.0  # limit for tailraced to end when its input has ended


class NameGroups:
    """`words`: the words of tailraced, without its parent's number. Starts it with the first group. Used by one thread, because
    the kernel ends tailraced when the thread ends that has started it."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, names: Sequence[str]) -> Mapping[str, Any]:
        """The answer for a group. Raises StageError, OSError."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"".join(os.fsencode(name) + b"\0" for name in names) + b"\0")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            self.end()
            raise StageError(f"`tailraced {' '.join(self._words)}` has ended while it worked")
        answer: dict[str, Any] = json.loads(line)
        if "why" in answer or answer["kind"] == "error":
            raise StageError(answer.get("why") or answer["message"])
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            words = [program(), *self._words, "--parent", str(os.getpid())]
            # A session of its own: a signal of the terminal is for the program.
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
            )
        return self._process

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def failures_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """By name: why nothing was done with it."""
    return {name_of(one["path"]): str(one["why"]) for one in answer["left"]}
