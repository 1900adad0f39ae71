"""Cases of test_python_api.py on several ranks: python_ranks.py CASE DIRECTORY [LAYOUT]; each rank prints "passed"."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import tailrace
from mpi4py import MPI

CODE = "f4"
SHAPE = (6, 8)
WORLD = MPI.COMM_WORLD


def values(step: int) -> np.ndarray:
    """As in test_python_api.py."""
    index = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    return ((tailrace.TYPES.index(CODE) * 7 + step * 31 + index * 5) % 120).astype(CODE)


def my_rows() -> tuple[int, int]:
    """Uneven on purpose: the last rank of four or more owns none."""
    cuts = np.linspace(0, SHAPE[0], min(WORLD.size, 3) + 1).astype(int)
    cuts = np.concatenate([cuts, np.full(max(0, WORLD.size - 3), SHAPE[0])])
    return int(cuts[WORLD.rank]), int(cuts[WORLD.rank + 1])


def define(stream: tailrace.Stream) -> None:
    stream.dim("lat", SHAPE[0])
    stream.dim("lon", SHAPE[1])
    stream.var("v", ("lat", "lon"), CODE)


def put_rows(step: tailrace.Step, number: int) -> None:
    first, end = my_rows()
    if end > first:
        step.put("v", values(number)[first:end], offset=(first, 0))


def rows(directory: str, layout: str) -> None:
    with tailrace.open(directory, "history", layout=layout, steps="all" if layout == "single" else 1) as stream:
        define(stream)
        for number in range(3):
            with stream.step(time=float(number)) as step:
                put_rows(step, number)


def alone(directory: str) -> None:
    """One rank fails inside a step: it sees its own exception, the others an error that names it, and the next step is fine."""
    with tailrace.open(directory, "history", layout="single", steps="all") as stream:
        define(stream)
        expected = ZeroDivisionError if WORLD.rank == 1 else tailrace.Error
        try:
            with stream.step(time=0.0) as step:
                put_rows(step, 0)
                if WORLD.rank == 1:
                    raise ZeroDivisionError("only here")
        except expected as error:
            said = str(error)
        assert "only here" in said, said  # unbound, and so an error too, when the step was committed
        assert stream.step_count == 0
        with stream.step(time=1.0) as step:
            put_rows(step, 1)
        assert stream.step_count == 1


def attribute(directory: str) -> None:
    """One rank says an attribute once more, or one that is refused and then taken back: nobody waits, and steps go on."""
    with tailrace.open(directory, "history", layout="single", steps="all") as stream:
        define(stream)
        stream.attributes("v", units="K")
        for number in range(3):
            if WORLD.rank == 0:
                stream.attributes("v", units="K")
            with stream.step(time=float(number)) as step:
                put_rows(step, number)
        if WORLD.rank == 0:
            stream.attributes("v", units="m")
        try:
            with stream.step(time=3.0) as step:
                put_rows(step, 3)
            said = ""
        except tailrace.Error as error:
            said = str(error)
        assert "the definitions" in said, said
        stream.attributes("v", units="K")
        with stream.step(time=3.0) as step:
            put_rows(step, 3)
        assert stream.step_count == 4


def reading(directory: str) -> None:
    """One rank leaves a reader while the others go on with it: they have an error, and nobody waits, at the end neither."""
    rows(directory, "single")
    calls: list[Callable[[tailrace.Reader], object]] = [
        lambda reader: reader.select(0),
        lambda reader: reader.get_shared("v"),
    ]
    for call in calls:
        expected = ZeroDivisionError if WORLD.rank == 1 else tailrace.Error
        try:
            with tailrace.open_read(directory, "history") as reader:
                if WORLD.rank == 1:
                    raise ZeroDivisionError("only here")
                call(reader)
        except expected as error:
            said = str(error)
        assert ("only here" if WORLD.rank == 1 else "tailrace_close_read") in said, said
    with tailrace.open_read(directory, "history") as reader:
        reader.select(1)
        np.testing.assert_array_equal(reader.get_shared("v"), values(1))


def communicators(directory: str) -> None:
    """A communicator of one rank, and a handle."""
    for comm in (MPI.COMM_SELF, MPI.COMM_SELF.py2f()):
        with tailrace.open(f"{directory}/{WORLD.rank}", "own", comm=comm, mode="replace") as stream:
            define(stream)
            with stream.step(time=0.0) as step:
                step["v"] = values(0)
            assert stream.step_count == 1


def threads(directory: str) -> None:
    """While rank 0 waits in end_step for rank 1, other threads of its Python go on."""
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.005):
            counted += 1

    with tailrace.open(directory, "history", layout="single", steps="all") as stream:
        define(stream)
        counter = threading.Thread(target=count)
        counter.start()
        step = stream.step(time=0.0)
        step.__enter__()
        put_rows(step, 0)
        WORLD.Barrier()
        if WORLD.rank == 1:
            time.sleep(0.5)
        before = counted
        step.__exit__(None, None, None)
        while_waiting = counted - before
        done.set()
        counter.join()
        assert WORLD.rank == 1 or while_waiting > 10, while_waiting


def main() -> None:
    case, *arguments = sys.argv[1:]
    cases: list[Callable[..., None]] = [rows, alone, attribute, reading, communicators, threads]
    {function.__name__: function for function in cases}[case](*arguments)
    print("passed", flush=True)


if __name__ == "__main__":
    main()
