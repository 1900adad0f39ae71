"""Runs all members that are left, on any engine, with a bounded number in flight. Only this process writes the journal."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from pathlib import Path
from queue import SimpleQueue

from tailrace.ensemble import engines
from tailrace.ensemble.fields import path_of
from tailrace.ensemble.member import Outcome, Plan, checksum
from tailrace.ensemble.values import EnsembleError, Value
from tailrace.ensemble.workers import run_member

IN_FLIGHT = 4  # members for each worker: enough that none waits for this process
MOST_TEXT = 400  # characters of an engine's error
MOST_LOSSES = 3  # a member whose engine broke this often has failed
VISIBLE_WITHIN_S = 60.0  # until a file that another node has written is seen here, whole
Task = tuple[int, dict[str, Value]]
Found = Callable[[Outcome], None]


def run_members(plan: Plan, tasks: Iterable[Task], finished: Found) -> None:
    """Calls `finished` with each outcome, in the order in which members end. An engine that breaks is opened again, and runs the
    members that it lost. Raises EnsembleError where a read-only input changed, because results of other members may be wrong."""
    losses: Counter[int] = Counter()
    why = ""
    waiting = iter(tasks)
    again: list[Task] = list(itertools.islice(waiting, 1))
    while again:  # an engine that gets no member is not opened: MPI's workers would be started in vain
        try:
            with engines.open_engine(plan.spec.engine, engines.Where(Path(plan.kept).parent, plan.run)) as executor:
                again, why = _with_engine(plan, executor, _chained(again, waiting), finished)
        except BrokenExecutor as error:
            why = _text_of(error)
        for member, parameters in again:
            losses[member] += 1
            if losses[member] >= MOST_LOSSES:
                text = f"the engine ended {MOST_LOSSES} times while it ran{why and ': '}{why}"
                finished(Outcome(member, "lost", text, parameters=parameters))
        again = [task for task in again if losses[task[0]] < MOST_LOSSES] or list(itertools.islice(waiting, 1))


def _chained(again: list[Task], waiting: Iterator[Task]) -> Iterator[Task]:
    yield from again
    yield from waiting


def _with_engine(  # type: ignore[no-untyped-def]
    plan: Plan, executor, tasks: Iterator[Task], finished: Found
) -> tuple[list[Task], str]:
    """Returns the members that were lost with the engine, and why; none when all have ended."""
    most = IN_FLIGHT * engines.workers_of(plan.spec.engine)
    in_flight: dict[Future[Outcome], Task] = {}
    ended: SimpleQueue[Future[Outcome]] = SimpleQueue()
    lost: list[Task] = []
    why = ""
    is_remote = plan.spec.engine.name != "threads"
    try:
        while True:
            while len(in_flight) < most and not lost:
                task = next(tasks, None)
                if task is None:
                    break
                try:
                    future = executor.submit(run_member, plan, *task)
                except (BrokenExecutor, RuntimeError) as error:
                    lost.append(task)
                    why = why or _text_of(error)
                else:
                    in_flight[future] = task
                    future.add_done_callback(ended.put)
            if not in_flight:
                return lost, why
            future = ended.get()
            task = in_flight.pop(future)
            try:
                outcome = future.result()
            except (Exception, CancelledError) as error:
                if not _is_loss(error):
                    raise
                lost.append(task)
                why = why or _text_of(error)
                continue
            finished(_seen_here(plan, outcome) if is_remote else outcome)
            if outcome.reason == "input changed":
                raise EnsembleError(
                    f"member {outcome.member} stopped the ensemble: {outcome.message}: "
                    "leave out of read_only what the command may change"
                )
    except BaseException:
        for future in in_flight:
            future.cancel()
        raise


def _text_of(error: BaseException) -> str:
    return " ".join(str(error).split())[:MOST_TEXT]


def _is_loss(error: BaseException) -> bool:
    """A worker or its engine ended. Errors of Parsl and Dask are known by their names: neither is imported here."""
    names = {one.__name__ for one in type(error).__mro__}
    lost = {"BrokenExecutor", "CancelledError", "KilledWorker", "WorkerLost", "ManagerLost", "BadStateException", "CommClosedError"}
    return bool(names & lost)


def _seen_here(plan: Plan, outcome: Outcome) -> Outcome:
    """Waits until files that another node wrote are here with their size and checksum. It looks again and again; no fixed sleep."""
    end, delay = time.monotonic() + VISIBLE_WITHIN_S, 0.001
    for path, size, expected in _delivered(plan, outcome):
        while not _is_whole(path, size, expected):
            if time.monotonic() > end:
                text = f"{path}: not seen whole within {VISIBLE_WITHIN_S:g} s after {outcome.facts['host']} wrote it"
                return Outcome(
                    outcome.member, "keep", text, parameters=outcome.parameters, seconds=outcome.seconds, facts=outcome.facts
                )
            time.sleep(delay)
            delay = min(2 * delay, 0.5)
    return outcome


def _delivered(plan: Plan, outcome: Outcome) -> Iterator[tuple[Path, int, str]]:
    """The files that a member has left in the ensemble's folder, with their sizes and checksums."""
    for name, (size, expected) in outcome.kept.items():
        yield Path(plan.kept) / f"{outcome.member:06d}" / name, size, expected
    if found := outcome.fields:
        yield path_of(Path(plan.fields), outcome.member), found["size"], found["checksum"]


def _is_whole(path: Path, size: int, expected: str) -> bool:
    try:
        return path.stat().st_size == size and checksum(path) == expected
    except OSError:
        return False
