"""A model in Python one of whose ranks only writes: python_dedicated.py DIRECTORY [fail|ragged|late]."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tailrace
from mpi4py import MPI
from tailrace import errors

ROWS, COLUMNS, STEPS = 6, 5, 3


def note(kind: type[BaseException], error: BaseException, _: object) -> None:
    """Open MPI may lose what a rank has said last when it ends the others."""
    Path(sys.argv[1], f"exception.{MPI.COMM_WORLD.Get_rank()}").write_text(f"{kind.__name__}: {error}")


sys.excepthook = note


def model(compute: MPI.Comm, directory: str, fails: bool) -> None:
    rank, ranks = compute.Get_rank(), compute.Get_size()
    first, last = ROWS * rank // ranks, ROWS * (rank + 1) // ranks
    with tailrace.open(directory, "history", comm=compute, writers="dedicated:1", steps=1, overlap=1) as stream:
        stream.dim("y", ROWS)
        stream.dim("x", COLUMNS)
        stream.var("v", ("y", "x"), "f8")
        for step in range(STEPS):
            values = 100.0 * step + np.arange(first * COLUMNS, last * COLUMNS).reshape(last - first, COLUMNS)
            with stream.step(float(step)) as output:
                output.put("v", values, offset=(first, 0))
            values[:] = -1  # it has been copied
            if fails:
                raise RuntimeError("the model failed")
    reader = tailrace.open_read(directory, "history", comm=compute)
    expected = 100.0 * (STEPS - 1) + np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    np.testing.assert_array_equal(reader.get("v"), expected)
    reader.close()


def particles(compute: MPI.Comm, directory: str) -> None:
    """Each rank puts as many as its number says, behind those of lower ranks; then not equally many of both variables."""
    rank = compute.Get_rank()
    with tailrace.open(directory, "history", comm=compute, writers="dedicated:1", steps=1) as stream:
        stream.dim("particle", tailrace.RAGGED)
        stream.var("id", ("particle",), "i4")
        stream.var("mass", ("particle",), "f8")
        for step in range(STEPS):
            count = rank + 1 + step
            with stream.step(float(step)) as output:
                output.put("id", np.full(count, 10 * step + rank, "i4"))
                output.put("mass", np.arange(count) + 0.5)
        try:
            with stream.step(float(STEPS)) as output:
                output.put("id", np.zeros(2 + rank % 2, "i4"))
                output.put("mass", np.zeros(3 - rank % 2))
        except errors.BadShape as error:
            print(f"refused: {error}\n", end="", flush=True)  # one write: the lines of ranks meet


def late(compute: MPI.Comm, directory: str) -> tailrace.Stream:
    """Leaves a stream open."""
    stream = tailrace.open(directory, "history", comm=compute, writers="dedicated:1", steps=1)
    stream.dim("x", compute.Get_size())
    stream.var("v", ("x",), "f8")
    with stream.step(0.0) as output:
        output.put("v", np.full(1, 7.0), offset=(compute.Get_rank(),))
    return stream


def main() -> None:
    what = sys.argv[2] if len(sys.argv) > 2 else ""
    left: list[tailrace.Stream] = []
    try:
        with tailrace.set_aside(1) as compute:
            if compute is None:
                print("wrote", flush=True)
                return
            if what == "late":
                left.append(late(compute, sys.argv[1]))
            elif what == "ragged":
                particles(compute, sys.argv[1])
            else:
                model(compute, sys.argv[1], what == "fail")
            print("computed", flush=True)
    except errors.BadOrder as error:
        print(f"told: {error}\n", end="", flush=True)
    for stream in left:
        try:
            stream.close()
        except errors.BadOrder as error:
            print(f"told: {error}\n", end="", flush=True)


main()
