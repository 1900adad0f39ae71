"""What a run left on storage, and what it takes to make it durable and to read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OnStorage:
    bytes: int
    files: int
    directories: int


def on_storage(directory: Path) -> OnStorage:
    """Everything below `directory`: lengths of the files, not blocks taken."""
    size_bytes = files = directories = 0
    for folder, inner, names in os.walk(directory):
        directories += len(inner)
        files += len(names)
        size_bytes += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
    return OnStorage(size_bytes, files, directories)


def make_durable(directory: Path) -> float:
    """Seconds to fsync every file and then every directory below and with `directory`, one after another."""
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
    """xarray in a process of its own, started at its first use: a reader that crashes must not end the study."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def time_to_read(self, paths: Sequence[Path], timeout_s: float) -> tuple[float | None, str]:
        """(seconds, "") or (None, why not). Importing xarray is not counted."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"paths": [str(path) for path in paths], "timeout_s": timeout_s}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline() or "{}")
        except OSError:
            answer = {}
        if "open_s" in answer:
            return float(answer["open_s"]), ""
        return None, f"not readable by xarray: {answer.get('error', 'the reader did not start')}"

    def _start(self) -> subprocess.Popen[str]:
        # In a session of its own, out of reach of Ctrl-C; it ends with its standard input.
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "tailrace.study.reader"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=surroundings, start_new_session=True)
