"""Runs mutations: readers read damaged inputs, many one after the other in a process that is forked once all modules are loaded.

The same seed and number give the same mutation. A reader may answer with the truth or with one of its own errors. All else is a
fault: another exception, an INTERNAL error, a signal, more than LIMIT_S of processor time, more than LIMIT_BYTES of memory, no end.
After a fault a new process goes on. A fault is read again in a process of its own, and names the command that does so.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import itertools
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import tailrace
from tailrace.errors import ERRORS

from tests.processor_time import used_s

# The sanitizers make code several times as slow, and put red zones around what is allocated.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
LIMIT_S, HANGS_S, LIMIT_BYTES = (20, 180, 2 << 30) if SANITIZED else (2, 60, 512 << 20)
SERIES = 50  # mutations that a process reads
LOADING = 8  # mutations that show which modules readers need
INTERNAL = ERRORS["INTERNAL"]  # an error of our own: no answer about a file
READ, REFUSED, FAULT = "read", "refused", "fault"
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # fsync costs nothing there


class Source(NamedTuple):
    make: Callable[[Path], None]  # fills a folder with inputs
    mutate: Callable[[Path, random.Random], Path]  # changes one of them in a copy; returns what is read
    read: Callable[[Path], Any]
    own_errors: tuple[type[BaseException], ...] = (OSError,)
    a_dead_process_is_an_error: bool = False  # so each mutation needs its own


class Inputs(NamedTuple):
    """The content of a folder."""

    folders: list[str]
    files: dict[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> Inputs:
        found = sorted(folder.rglob("*"))
        names = {path: str(path.relative_to(folder)) for path in found}
        return cls(
            [names[path] for path in found if path.is_dir()], {names[path]: path.read_bytes() for path in found if path.is_file()}
        )

    def write(self, folder: Path) -> None:
        folder.mkdir()
        for name in self.folders:
            os.mkdir(f"{folder}/{name}")
        for name, content in self.files.items():
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)


class Answer(NamedTuple):
    outcome: str  # READ, REFUSED, or FAULT and what happened
    processor_s: float = 0


class ReadingProcess:
    """`work` is its own folder, which it makes."""

    def __init__(self, source: Source, inputs: Inputs, work: Path) -> None:
        self.numbers: list[int] = []  # that it was asked to read
        self._source, self._work = source, work
        self._asks, asked = Pipe()
        gc.collect()
        gc.freeze()  # a collection in the child then touches no page of what is here
        self._process = os.fork()
        if self._process == 0:
            self._asks.close()
            _serve(source, inputs, work, asked)
        asked.close()

    def read(self, seed: str, number: int) -> Answer:
        """Ends the process where it did not answer."""
        self.numbers.append(number)
        self._asks.send(f"{seed} {number}")
        if not self._asks.poll(HANGS_S):
            self.end()
            return Answer(f"{FAULT}: no answer in {HANGS_S} s")
        try:
            answer: Answer = self._asks.recv()
        except (EOFError, ConnectionResetError):
            status = os.waitstatus_to_exitcode(self.end())
            return Answer(
                REFUSED if self._source.a_dead_process_is_an_error and status != -signal.SIGXCPU else f"{FAULT}: {_how(status)}"
            )
        if answer.processor_s > LIMIT_S:
            return Answer(f"{FAULT}: {answer.processor_s:.1f} s of processor time", answer.processor_s)
        return answer

    def is_done(self) -> bool:
        return self._process == 0 or len(self.numbers) >= (1 if self._source.a_dead_process_is_an_error else SERIES)

    def end(self) -> int:
        """Its status."""
        if self._process == 0:
            return 0
        os.kill(self._process, signal.SIGKILL)
        _, status = os.waitpid(self._process, 0)
        self._process = 0
        self._asks.close()
        shutil.rmtree(self._work, ignore_errors=True)
        return status


def _how(status: int) -> str:
    if status == -signal.SIGXCPU:
        return f"more than {2 * LIMIT_S} s of processor time"
    return f"the process ended with {signal.Signals(-status).name if status < 0 else f'status {status}'}"


def _serve(source: Source, inputs: Inputs, work: Path, asked: Connection) -> NoReturn:
    """The child's life: it answers what it is asked."""
    with suppress(BaseException):
        _begin_reading(work)
        while True:
            asked.send(_answer(source, inputs, work, asked.recv()))
    os._exit(1)


def _begin_reading(work: Path) -> None:
    faulthandler.disable()  # what a signal ends is told by its parent
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    own_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own_bytes + LIMIT_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work.mkdir()


def _answer(source: Source, inputs: Inputs, work: Path, seed: str) -> Answer:
    began_s = used_s()
    most_s = math.ceil(began_s + 2 * LIMIT_S)  # ends it where it does not return; used_s() then tells what is too much
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, resource.RLIM_INFINITY))
    folder = work / seed.rpartition(" ")[2]
    try:
        inputs.write(folder)
        path = source.mutate(folder, random.Random(seed))
        source.read(path)
        outcome = READ
    except BaseException as error:
        is_own = isinstance(error, (*source.own_errors, tailrace.Error)) and not isinstance(error, INTERNAL)
        outcome = REFUSED if is_own else f"{FAULT}: {''.join(traceback.format_exception(error, limit=-3))}"
    shutil.rmtree(folder, ignore_errors=True)
    return Answer(outcome, used_s() - began_s)


def load_modules(source: Source, inputs: Inputs, work: Path) -> None:
    """Those that readers import when they first read, or refuse. A child tells which: reading here would start threads, and a fork
    does not take them along."""
    receive, send = Pipe(duplex=False)
    process = os.fork()
    if process == 0:
        with suppress(BaseException):
            _begin_reading(work)
            before = set(sys.modules)
            for number in range(LOADING):
                _answer(source, inputs, work, f"load {number}")
            send.send([name for name in sys.modules if name not in before])
        os._exit(0)
    send.close()
    names: list[str] = []
    with suppress(EOFError):  # it died: that is found again
        names = receive.recv() if receive.poll(HANGS_S) else []
    receive.close()
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    for name in names:
        with suppress(ImportError):  # a module that another has put there
            importlib.import_module(name)


class Runner:
    """Of the mutations of one source."""

    def __init__(self, source: Source, name: str, seed: str, work: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: dict[str, str] = {}  # by the arguments of the command that reads it alone
        self.slowest_s = 0.0
        self._source, self._name, self._seed = source, name, seed
        self._folders = (work / str(number) for number in itertools.count())
        inputs = next(self._folders)
        inputs.mkdir()
        source.make(inputs)
        self._inputs = Inputs.of(inputs)
        load_modules(source, self._inputs, next(self._folders))

    def run(self, numbers: range) -> None:
        process: ReadingProcess | None = None
        for number in numbers:
            if process is None or process.is_done():
                process = self._successor(process)
            answer = process.read(self._seed, number)
            outcome = answer.outcome
            if outcome.startswith(FAULT):
                process.end()
                outcome = self._again(process.numbers, outcome)
            else:
                self.slowest_s = max(self.slowest_s, answer.processor_s)
            self.counts[outcome.partition(":")[0]] += 1
        if process is not None:
            process.end()

    def _successor(self, process: ReadingProcess | None) -> ReadingProcess:
        if process is not None:
            process.end()
        return ReadingProcess(self._source, self._inputs, next(self._folders))

    def _again(self, numbers: list[int], once: str) -> str:
        """Reads the last of `numbers` alone, then after those before it. What a busy machine causes once, such as too much time, is
        told and does not count."""
        for read in [numbers[-1:], numbers][: len(numbers)]:
            process = self._successor(None)
            for number in read:
                found = process.read(self._seed, number).outcome
                if found.startswith(FAULT):
                    break
            process.end()
            if found.startswith(FAULT):
                self.faults[f"{self._name} {self._seed} {len(read)} {read[0]}"] = found
                return found
        print(f"once, and not again: {self._name} {self._seed} 1 {numbers[-1]}: {once}", file=sys.stderr)
        return found


def run(source: Source, name: str, seed: str, numbers: range) -> Runner:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY, ignore_cleanup_errors=True) as work:
        runner = Runner(source, name, seed, Path(work))
        runner.run(numbers)
    return runner


def print_faults(sources: Mapping[str, Source], name: str, seed: str, count: str, first: str = "0") -> None:
    """The command line of a module of mutations."""
    found = run(sources[name], name, seed, range(int(first), int(first) + int(count)))
    print(json.dumps({"counts": found.counts, "faults": found.faults, "slowest_s": round(found.slowest_s, 3)}, indent=1))
