"""A stream that one process reads at any step, from any thread: what xarray and dask need.

A reader of the library reads the step that it has selected, for one thread. So this keeps several of one stream. It goes to another
process as the names by which that opens its own.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import tailrace._core as _core
from tailrace.reader import Reader

MOST_READERS = 8  # each may have tens of parts open; a process usually has 1,024 descriptors
# Held by calls that open or close a reader or select its step. They are collective in MPI, so only one thread at a time makes them.
_collective = threading.RLock()


def _close_all(readers: list[Reader]) -> None:
    with _collective:
        while readers:
            with suppress(_core.Error):  # nothing is lost: these only read
                readers.pop().close()


class Steps:
    """The committed steps of a stream, as they were when it was opened. Any thread may call `read`; no rank waits for another."""

    def __init__(self, directory: str | os.PathLike[str], stream: str, *, verify: bool = False) -> None:
        self.directory, self.stream, self.verify = os.path.abspath(directory), stream, verify
        self._prepare()
        reader = self._new_reader()
        self.numbers, self.times = reader.steps, reader.times
        self._idle.append(reader)

    def _prepare(self) -> None:
        self._idle: list[Reader] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_READERS)
        self._process = os.getpid()
        weakref.finalize(self, _close_all, self._idle).atexit = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def _new_reader(self) -> Reader:
        with _collective:
            return Reader(self.directory, self.stream, _core.alone(), verify=self.verify)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Lends this thread a reader while the block runs. At most MOST_READERS threads have one at a time."""
        if self._process != os.getpid():  # after a fork, the readers and locks belong to the parent
            self._prepare()
        with self._room:
            with self._lock:
                reader = self._idle.pop() if self._idle else None
            reader = reader or self._new_reader()
            try:
                yield reader
            finally:
                with self._lock:
                    self._idle.append(reader)

    def read(self, name: str, indices: Sequence[int] | None, offset: Sequence[int], out: Any) -> None:
        """Reads into out[k] the hyperslab of a variable that begins at `offset`, at the step numbers[indices[k]].

        `indices` None: into `out` whole, at the last step; what does not vary. Raises tailrace.Error where a part is missing or
        damaged, or a step is no longer in the stream.
        """
        with self.reader() as reader:
            if indices is None:
                self._select(reader, len(self.numbers) - 1)
                reader.get_at(name, offset, out)
                return
            for k, index in enumerate(indices):
                self._select(reader, index)
                reader.get_at(name, offset, out[k, ...])  # with ... a scalar stays an array

    def _select(self, reader: Reader, index: int) -> None:
        if index < 0 or reader.selected == self.numbers[index]:
            return  # a stream of static arrays alone has no steps
        with _collective:
            reader.select(self.numbers[index])
        if reader.time != self.times[index]:
            raise _core.ERRORS["NOT_FOUND"](
                f"step {self.numbers[index]} of stream '{self.stream}' in {self.directory} has time {reader.time}, and not "
                f"{self.times[index]} as when it was opened: the stream was written anew; open it again"
            )

    def close(self) -> None:
        """Closes the files. A later `read` opens them again, as xarray's own engines do."""
        with self._lock:
            readers = self._idle[:]
            self._idle.clear()
        _close_all(readers)
