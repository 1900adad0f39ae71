"""A second process reads the logs of a large run and makes their tables, while this one adds them up. It keeps the logs: phases and
coverage come from it, too, so that no log is read twice.

    with open_logs(folder, keeps=True) as logs:
        run = Run.of_parts(logs.parts(), folder)
        phases, coverage = logs.phases_and_coverage()

Small runs are read here, where a process would cost more than it saves."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from tailrace.child_python import end_with_parent, python_command
from tailrace.memory import give_back_memory
from tailrace.trace.log import Log, LogError, logs_of
from tailrace.trace.schema import Tables
from tailrace.trace.sources import run
from tailrace.trace.table_parts import TableParts

if TYPE_CHECKING:
    from tailrace.trace.coverage import Coverage
    from tailrace.trace.phases import Phases

LARGE_BYTES = 64 << 20  # of logs, from which on a process is worth its start
AHEAD = 2  # most logs that were read and not yet sent
PART, DAMAGED, END, ERROR = "part", "damaged", "end", "error"


class LogReader:
    """Reads the logs in this process."""

    def __init__(self, folder: Path, *, keeps: bool) -> None:
        """Raises LogError, OSError."""
        self._keeps = keeps
        self._logs: list[Log] = []
        self._headers, self._damaged = run.headers_of(folder)

    def parts(self) -> TableParts:
        """The tables of the logs, part by part. They can be read only once."""
        return TableParts(self._each(), len(self._headers), self._damaged)

    def _each(self) -> Iterator[Tables]:
        for log, tables in run.logs_with_tables(self._headers, self._damaged):
            if self._keeps:
                self._logs.append(log)
            yield tables

    def phases_and_coverage(self) -> tuple[Phases | None, list[Coverage]]:
        """How ranks meet, and the kernel's counts: what only the logs themselves have. For a reader that keeps them, once all parts
        are read."""
        from tailrace.trace.coverage import coverage_of
        from tailrace.trace.phases import phases_of

        phases = phases_of(self._logs)
        return phases if phases.phases else None, coverage_of(self._logs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._logs.clear()


class ProcessLogReader(LogReader):
    """Reads the logs in a child process that ends with this one."""

    def __init__(self, folder: Path, *, keeps: bool) -> None:
        super().__init__(folder, keeps=keeps)
        self._damaged.clear()  # the child process reports damaged logs, too
        self._folder = folder
        code = f"from tailrace.trace.log_process import main; main({str(folder.absolute())!r}, {keeps}, {os.getpid()})"
        self._process = subprocess.Popen(python_command(code), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    @property
    def process_number(self) -> int:
        return self._process.pid

    def _each(self) -> Iterator[Tables]:
        while (found := self._take())[0] != END:
            if found[0] == PART:
                yield found[1]
            else:
                self._damaged.append(found[1])

    def phases_and_coverage(self) -> tuple[Phases | None, list[Coverage]]:
        found: tuple[Phases | None, list[Coverage]] = self._take()[1]
        return found

    def _take(self) -> tuple[str, Any]:
        assert self._process.stdout is not None
        try:
            kind, value = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            status = self._process.wait()
            raise LogError(
                f"{self._folder}: the process that read its logs ended with {status}: there may be too little memory, or a log was "
                "cut while it was read"
            ) from None
        if kind == ERROR:
            raise LogError(value)
        return kind, value

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def open_logs(folder: Path, *, keeps: bool) -> LogReader:
    """`keeps`: phases and coverage are wanted, too. Raises LogError, OSError."""
    size_bytes = sum(path.stat().st_size for path in logs_of(folder))
    is_alone = len(os.sched_getaffinity(0)) < 2
    return (LogReader if is_alone or size_bytes < LARGE_BYTES else ProcessLogReader)(folder, keeps=keeps)


def main(folder: str, keeps: bool, parent: int) -> None:
    """The main function of the child process: writes the tables that it makes to its standard output."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    answers: Queue[tuple[str, Any] | None] = Queue(AHEAD)
    sender = threading.Thread(target=_send, args=(os.fdopen(os.dup(1), "wb"), answers))
    os.dup2(2, 1)
    sender.start()
    try:
        with LogReader(Path(folder), keeps=keeps) as reader:
            parts = reader.parts()
            for tables in parts.parts:
                answers.put((PART, tables))
                del tables
            for text in parts.damaged:
                answers.put((DAMAGED, text))
            answers.put((END, None))
            if keeps:
                give_back_memory()
                answers.put((END, reader.phases_and_coverage()))
    except (LogError, OSError) as error:
        answers.put((ERROR, str(error)))
    finally:
        answers.put(None)
        sender.join()


def _send(to: BinaryIO, answers: Queue[tuple[str, Any] | None]) -> None:
    with contextlib.suppress(BrokenPipeError), to:
        while (answer := answers.get()) is not None:
            pickle.dump(answer, to, pickle.HIGHEST_PROTOCOL)
            to.flush()
        return
    os._exit(1)  # the parent needs no more
