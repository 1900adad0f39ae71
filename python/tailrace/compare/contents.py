"""Compares the content of NetCDF and HDF5 files, whatever their bytes are. A process of its own (digests.py) reads them, with
limits of time and memory, because reading a damaged file may crash or hang."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import tailrace
from tailrace.compare.digests import format_of
from tailrace.quantities import seconds_text

LIMIT_S = 30.0  # time limit for a file, plus a second for each BYTES_A_SECOND of its size
BYTES_A_SECOND = 20e6
MOST_LATE = 3  # after so many files that took too long, no further file is read
MOST_ANSWER_BYTES = 256 << 20
MOST_NAMED = 3


@dataclass(frozen=True)
class Contents:
    """The content of one file, as checksums."""

    digests: Mapping[str, str] = field(default_factory=dict)  # a checksum for each variable and attribute
    why_not: str = ""  # why the file could not be read; "": it was read

    def difference(self, other: Contents) -> str:
        """A sentence: what differs, or why that is not known. Empty if nothing differs."""
        if why := self.why_not or other.why_not:
            return f"its content is not known: {why}"
        names = [name for name in {**self.digests, **other.digests} if self.digests.get(name) != other.digests.get(name)]
        shown = ", ".join(sorted(names)[:MOST_NAMED]) + (
            f", and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
        )
        return f"its content differs in {shown}" if names else ""


class ContentReader:
    """Reads one file after the other by a child process, which starts with the first file, and again after a file that ended it."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._late = 0

    def __enter__(self) -> ContentReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def read(self, path: str) -> Contents | None:
        """The content of a regular file. None if it is neither NetCDF nor HDF5."""
        try:
            if not format_of(path):
                return None
            size = os.stat(path).st_size
        except OSError as error:
            return Contents(why_not=f"{error.strerror}")
        if self._late == MOST_LATE:
            return Contents(why_not=f"{MOST_LATE} other files took too long to read, so it was not read")
        limit_s = self._limit_s + size / BYTES_A_SECOND
        try:
            process = self._started()
            assert process.stdin is not None
            process.stdin.write(f"{json.dumps(path)}\n".encode())
            process.stdin.flush()
            line = self._line(process, limit_s)
        except TimeoutError:
            self._end()
            self._late += 1
            return Contents(why_not=f"reading it took more than {seconds_text(limit_s)}")
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            status = self._end()
            ended = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
            return Contents(why_not=f"the process that read it {ended}")
        answer = json.loads(line)
        return Contents(answer["digests"]) if "digests" in answer else Contents(why_not=answer["why"])

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            folder = os.fspath(Path(tailrace.__file__).parents[1])
            paths = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH", ""))))
            self._process = subprocess.Popen(
                # RATIONALE: with -P, Python does not import modules of the working folder, which belong to the program.
                [sys.executable, "-P", "-m", "tailrace.compare.digests", str(os.getpid())],
                env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], limit_s: float) -> bytes:
        """The line that the process answers. It has no newline at its end if the process has ended. Raises TimeoutError."""
        assert process.stdout is not None
        until, found = time.monotonic() + limit_s, bytearray()
        while not found.endswith(b"\n") and len(found) < MOST_ANSWER_BYTES:
            if not select.select([process.stdout], [], [], max(until - time.monotonic(), 0))[0]:
                raise TimeoutError
            if not (piece := os.read(process.stdout.fileno(), 1 << 20)):
                break
            found += piece
        return bytes(found)

    def _end(self) -> int:
        """Ends the process. Returns its exit status; a negative one is minus a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was not written yet
                pipe.close()
        try:
            return process.wait(1.0)  # without input it ends by itself
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
