"""A worker: a process that runs members, one after the other, for the process that started it (`workers.py` is the other end).

Tasks come on its standard input as pickled objects, outcomes leave on its standard output. When its input ends, it ends the member
that runs, and itself.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys

from tailrace.ensemble import keeper
from tailrace.ensemble.member import Plan, run_here
from tailrace.ensemble.scratch import join_scratch

READY = "ready"
NUMBER = struct.Struct("q")  # of a token


def main(tokens: int) -> None:
    """`tokens`: the pipe that has a number for each member that may begin; the parent takes back those that another worker runs."""
    os.set_inheritable(tokens, False)
    tasks, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what a user's function prints
    keeper.begin(tasks.fileno())
    plan: Plan | None = None
    allowed = 0
    try:
        _send(outcomes, READY)
        while True:
            task = pickle.load(tasks)
            if isinstance(task[0], Plan):
                plan, scratch = task
                _prepare(plan)
                if scratch is not None:
                    join_scratch(scratch, plan.run)
                continue
            number, member, parameters = task
            while allowed < number:  # the tokens come in order; one that is missing was taken back
                try:
                    token = os.read(tokens, NUMBER.size)
                except BlockingIOError:
                    break
                if not token:  # the parent has closed the pipe: it needs this worker no more
                    break
                allowed = NUMBER.unpack(token)[0]
            if allowed == number and plan is not None:
                _send(outcomes, run_here(plan, member, parameters))
    except (EOFError, BrokenPipeError, keeper.ParentEndedError):
        keeper.end_all(0.0)


def _send(outcomes, value: object) -> None:  # type: ignore[no-untyped-def]
    outcomes.write(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    outcomes.flush()


def _prepare(plan: Plan) -> None:
    """A user's function may import packages that only the hooks of the site's folders find; the worker was started without them."""
    if sys.flags.no_site and "python" in {one.kind for one in plan.spec.readings} | {one.kind for one in plan.spec.fields}:
        import site

        known = list(sys.path)
        site.main()
        sys.path[:] = [*known, *(path for path in sys.path if path not in known)]
