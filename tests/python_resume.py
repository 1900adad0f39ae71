"""python_resume.py DIRECTORY OPTIONS|check FIRST LAST: each rank puts its rows of steps FIRST to LAST - 1, or compares all steps.

The values of a step follow from its time alone, so a stream that was continued is that of an uninterrupted run."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import tailrace
from mpi4py import MPI

# Small arrays are not compressed; those of 32 KiB are.
ROWS, COLUMNS = 12, int(os.environ.get("PYTHON_RESUME_COLUMNS", "3"))


def values(time: int) -> np.ndarray:
    return np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS) + 1000 * time


def write(directory: str, options: str, first: int, last: int) -> None:
    keys = tomllib.loads(options)
    if not keys.get("writers", "").startswith("dedicated"):
        write_on(MPI.COMM_WORLD, directory, keys, first, last)
        return
    with tailrace.set_aside(1) as compute:
        if compute is not None:
            write_on(compute, directory, keys, first, last)


def write_on(
    comm: MPI.Intracomm,
    directory: str,
    keys: dict[str, Any],
    first: int,
    last: int,
    accepted: Callable[[int], None] = lambda time: None,
) -> None:
    """`accepted` is called after each step."""
    rank, ranks = comm.rank, comm.size
    begin, end = ROWS * rank // ranks, ROWS * (rank + 1) // ranks
    with tailrace.open(directory, "history", comm=comm, layout=keys) as stream:
        stream.dim("y", ROWS)
        stream.dim("x", COLUMNS)
        stream.var("T", ("y", "x"), "f8")
        stream.var("area", ("y", "x"), "f8", static=True)
        if first > 0 and keys.get("mode") == "append":
            try:
                put_step(stream, first - 1, begin, end)
            except tailrace.BadOrder as error:
                print(f"refused: {error}\n", end="", flush=True)  # one write: the lines of ranks meet
        for time in range(first, last):
            put_step(stream, time, begin, end)
            accepted(time)


def put_step(stream: tailrace.Stream, time: int, begin: int, end: int) -> None:
    with stream.step(time) as step:
        step.put("T", values(time)[begin:end], offset=(begin, 0))
        step.put("area", values(-1)[begin:end], offset=(begin, 0))


def check(directory: str, last: int, first: int = 0) -> None:
    with tailrace.open_read(directory, "history", comm=MPI.COMM_SELF) as reader:
        assert reader.times == list(range(first, last)), reader.times
        for number, time in zip(reader.steps, reader.times, strict=True):
            reader.select(number)
            np.testing.assert_array_equal(reader.get("T"), values(int(time)))
            np.testing.assert_array_equal(reader.get("area"), values(-1))
    report = tailrace.verify(directory, "history", deep=True)
    assert report["ok"], report


if __name__ == "__main__":
    if sys.argv[2] == "check":
        check(sys.argv[1], int(sys.argv[4]))
    else:
        write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
