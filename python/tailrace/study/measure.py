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


def time_to_read(paths: Sequence[Path], timeout_s: float) -> tuple[float | None, str]:
    """(seconds, "") or (None, why not). In a process of its own: a reader that crashes must not end the study, and none of
    its caches survive. Importing xarray is not counted."""
    command = [sys.executable, "-m", "tailrace.study.reader", *map(str, paths)]
    # The reader needs the library's package path as this process has it.
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, env=surroundings, check=False)
    except subprocess.TimeoutExpired:
        return None, f"xarray did not finish within {timeout_s:g} s"
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return None, f"not readable by xarray: {last[0]}"
    return float(json.loads(done.stdout)["open_s"]), ""
