"""Worker processes: one that a thread of an engine uses, and an executor of several, the default engine."""

from __future__ import annotations

import collections
import contextlib
import itertools
import os
import pickle
import struct
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from tailrace.child_python import python_command
from tailrace.ensemble.marks import end_processes_of, mark_of
from tailrace.ensemble.member import Outcome, Plan
from tailrace.ensemble.scratch import Scratch, scratch_of_process
from tailrace.ensemble.values import EnsembleError, Value
from tailrace.ensemble.worker import NUMBER, READY

AHEAD = 2  # members that a worker has, with the one that it runs: it does not wait for this process


class WorkerLostError(Exception):
    """The worker was killed."""


class WorkerProcess:
    """It ends when this object is closed, or when this process is killed; its member ends with it.

    For each member that it is sent, a pipe has a token, a number. The worker takes it when it begins the member; this process
    may take it back before. One read gets a token whole, so one of them has it.
    """

    def __init__(self) -> None:
        self.tokens: tuple[int, ...] = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.sent = 0
        self.process = subprocess.Popen(
            python_command(f"from tailrace.ensemble.worker import main; main({self.tokens[0]})"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[self.tokens[0]],
        )
        self.plan: Plan | None = None
        self.is_ready = False

    def send(self, plan: Plan, member: int, parameters: dict[str, Value]) -> int:
        """Returns the number of its token. Raises WorkerLostError."""
        is_known = self.plan is plan or self.plan == plan
        text = b"" if is_known else pickle.dumps((plan, scratch_for(plan)), pickle.HIGHEST_PROTOCOL)
        self.plan = plan
        self.sent += 1
        text += pickle.dumps((self.sent, member, parameters), pickle.HIGHEST_PROTOCOL)
        assert self.process.stdin is not None
        try:
            os.write(self.tokens[1], NUMBER.pack(self.sent))
            self.process.stdin.write(text)
            self.process.stdin.flush()
            return self.sent
        except (OSError, ValueError):  # ValueError: closed by another thread
            raise WorkerLostError from None

    def receive(self) -> Outcome:
        """Waits for the next outcome. Raises WorkerLostError, EnsembleError where no worker can be started."""
        if not self.is_ready and self._load() != READY:
            self.close()
            raise EnsembleError(f"no worker could be started with {sys.executable}: its error is above; try `--engine mpi`")
        self.is_ready = True
        found = self._load()
        if found is None:
            raise WorkerLostError
        return found

    def _load(self) -> Any:
        assert self.process.stdout is not None
        try:
            return pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None

    def take_back(self) -> int:
        """The number of the next member that it has not begun, which it then leaves out; 0 where there is none."""
        try:
            found: int = NUMBER.unpack(os.read(self.tokens[0], NUMBER.size))[0]
            return found
        except (BlockingIOError, OSError, struct.error):
            return 0

    def end(self) -> None:
        """Lets it end its member and itself."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        tokens, self.tokens = self.tokens, ()
        for descriptor in tokens:
            os.close(descriptor)
        self.process.wait()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


@dataclass(eq=False)
class _Task:
    plan: Plan
    member: int
    parameters: dict[str, Value]
    future: Future[Outcome] = field(default_factory=Future)
    losses: int = 0
    is_begun: bool = False  # its future can no longer be cancelled
    token: int = 0


@dataclass(eq=False)
class _Given:
    """A worker with the members that it has, in their order. The pool's lock guards it."""

    worker: WorkerProcess | None = None
    tasks: collections.deque[_Task] = field(default_factory=collections.deque)

    def take_back(self) -> _Task | None:
        if self.worker is None or len(self.tasks) < AHEAD or (token := self.worker.take_back()) == 0:
            return None
        task = next(task for task in self.tasks if task.token == token)
        self.tasks.remove(task)
        return task


def scratch_for(plan: Plan) -> Scratch | None:
    """This process's, for its workers. None where it cannot be made: each member then says why."""
    with contextlib.suppress(OSError):
        return scratch_of_process(plan.spec.engine.scratch, plan.run, plan.files)
    return None


def after_loss(plan: Plan, worker: WorkerProcess, member: int, parameters: dict[str, Value], losses: int) -> Outcome | None:
    """Ends what a killed worker left running. None: the member may run again."""
    worker.close()
    end_processes_of(mark_of(plan.run, os.getpid(), member))
    if (scratch := scratch_for(plan)) is not None:
        scratch.remove_of(worker.process.pid)
    if losses <= plan.spec.limits.retries:
        return None
    text = f"its worker ended with status {worker.process.returncode}"
    return Outcome(member, "lost", text, parameters=parameters, facts={"attempts": losses})


_of_thread = threading.local()


def run_member(plan: Plan, member: int, parameters: dict[str, Value]) -> Outcome:
    """Runs a member in the worker process of this thread. Never raises for what happens to the member."""
    for losses in itertools.count(1):
        worker: WorkerProcess | None = getattr(_of_thread, "worker", None)
        if worker is None or worker.process.poll() is not None:
            worker = _of_thread.worker = WorkerProcess()
        try:
            worker.send(plan, member, parameters)
            return worker.receive()
        except WorkerLostError:
            if (outcome := after_loss(plan, worker, member, parameters, losses)) is not None:
                return outcome
        except BaseException:  # an interruption: its reply must not be taken for that of the next member
            worker.close()
            raise
    raise AssertionError


class WorkerPool(Executor):
    """Worker processes on this node, with a thread of this process for each."""

    def __init__(self, workers: int) -> None:
        self.tasks: collections.deque[_Task] = collections.deque()
        self.changed = threading.Condition()
        self.is_closed = self.is_interrupted = False
        self.given: list[_Given] = []
        self.threads = [threading.Thread(target=self._serve, name=f"worker {number}", daemon=True) for number in range(workers)]
        self.begun = 0

    def submit(self, function: Any, /, *arguments: Any, **others: Any) -> Future[Any]:
        """`function` must be run_member: other work has its own threads."""
        if function is not run_member or others:
            raise TypeError("this executor runs members alone")
        task = _Task(*arguments)
        with self.changed:
            if self.is_closed:
                raise RuntimeError("the executor has ended")
            self.tasks.append(task)
            if self.begun < len(self.threads):
                self.threads[self.begun].start()
                self.begun += 1
            self.changed.notify()
        return task.future

    def _serve(self) -> None:
        """A worker has at most AHEAD members. Those that it has not begun are taken back by a thread whose worker has none."""
        own = _Given()
        while True:
            while len(own.tasks) < AHEAD and (task := self._next(own)) is not None:
                if own.worker is None:
                    own.worker = WorkerProcess()
                    with self.changed:
                        self.given.append(own)
                with contextlib.suppress(WorkerLostError):  # then the next outcome is missing, too
                    task.token = own.worker.send(task.plan, task.member, task.parameters)
                with self.changed:
                    own.tasks.append(task)
                    self.changed.notify()  # an idle thread may take it back
            if not own.tasks:
                break
            self._receive(own)
        self._without_worker(own)

    def _receive(self, own: _Given) -> None:
        assert own.worker is not None
        outcome: Outcome | None = None
        try:
            outcome = own.worker.receive()
            with self.changed:
                task = own.tasks.popleft()  # what was taken back has left it before
        except WorkerLostError:
            with self.changed:
                task, *others = own.tasks
                own.tasks.clear()
            task.losses += 1
            outcome = after_loss(task.plan, own.worker, task.member, task.parameters, task.losses)
            self._again([*([task] if outcome is None else []), *others])
            self._without_worker(own)
        except BaseException as error:
            with self.changed:
                failed = list(own.tasks)
                own.tasks.clear()
            for task in failed:
                task.future.set_exception(error)
            self._without_worker(own)
            return
        if outcome is not None:
            task.future.set_result(outcome)

    def _without_worker(self, own: _Given) -> None:
        if own.worker is not None:
            with self.changed:
                self.given.remove(own)
            own.worker.close()
            own.worker = None

    def _next(self, own: _Given) -> _Task | None:
        """A member for a worker: one that waits, or, where the worker has none, one that another worker has not begun."""
        with self.changed:
            while True:
                while self.tasks:
                    task = self.tasks.popleft()
                    if task.is_begun or task.future.set_running_or_notify_cancel():
                        task.is_begun = True
                        return task
                if own.tasks:
                    return None
                for other in self.given:
                    if other is not own and (found := other.take_back()) is not None:
                        return found
                if self.is_closed:
                    return None
                self.changed.wait()

    def _again(self, tasks: list[_Task]) -> None:
        """They wait again, before the others; after an interruption they are lost."""
        with self.changed:
            if self.is_interrupted:
                for task in tasks:
                    task.future.set_result(Outcome(task.member, "lost", "interrupted", parameters=task.parameters))
                return
            self.tasks.extendleft(reversed(tasks))
            self.changed.notify_all()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self.changed:
            self.is_closed = True
            left = list(self.tasks) if cancel_futures else []
            for task in left:
                self.tasks.remove(task)
            self.changed.notify_all()
        for task in left:
            task.future.cancel()
        for thread in self.threads[: self.begun] if wait else ():
            thread.join()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """After an interruption, members that run are ended."""
        if kind is not None:
            with self.changed:
                self.is_interrupted = True
                for one in self.given:
                    if one.worker is not None:
                        one.worker.end()
        self.shutdown(cancel_futures=kind is not None)
