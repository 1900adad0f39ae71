"""After a run: the size of its output, the time to make it durable, the time until xarray has read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tailrace.results.runs import Stored


def stored_in(directory: Path) -> Stored:
    """Everything below `directory`: lengths of the files, not blocks."""
    size_bytes = files = directories = 0
    for folder, inner, names in os.walk(directory):
        directories += len(inner)
        files += len(names)
        size_bytes += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
    return Stored(size_bytes, files, directories)


def make_durable(directory: Path) -> float:
    """Seconds to fsync every file below `directory`, every directory, and `directory` itself, one after another."""
    start = time.perf_counter()
    for folder, _, names in os.walk(directory, topdown=False):
        for name in names:
            _fsync(os.path.join(folder, name))
        _fsync(folder)
    return time.perf_counter() - start


def _fsync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Reader:
    """xarray in a process of its own, started at its first use. A crash of the reader must not end the study."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def time_to_read(self, paths: Sequence[Path], timeout_s: float) -> tuple[float | None, str]:
        """(seconds, "") or (None, the reason). Importing xarray is not counted."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"paths": [str(path) for path in paths], "timeout_s": timeout_s}) + "\n")
            self._process.stdin.flush()
            reply = json.loads(self._process.stdout.readline() or "{}")
        except OSError:
            reply = {}
        if "open_s" in reply:
            return float(reply["open_s"]), ""
        return None, f"not readable by xarray: {reply.get('error', 'the reader did not start')}"

    def _start(self) -> subprocess.Popen[str]:
        # In a session of its own, so that Ctrl-C does not reach it. It ends when its standard input is closed.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "tailrace.study.reader"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, start_new_session=True)
