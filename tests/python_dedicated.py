"""A model in Python one of whose ranks only writes: python_dedicated.py DIRECTORY [fail]."""

from __future__ import annotations

import sys

import numpy as np
import tailrace
from mpi4py import MPI

ROWS, COLUMNS, STEPS = 6, 5, 3


def model(compute: MPI.Comm, directory: str, fails: bool) -> None:
    rank, ranks = compute.Get_rank(), compute.Get_size()
    first, last = ROWS * rank // ranks, ROWS * (rank + 1) // ranks
    with tailrace.open(directory, "history", comm=compute, writers="dedicated:1", overlap=1) as stream:
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


def main() -> None:
    with tailrace.set_aside(1) as compute:
        if compute is None:
            print("wrote", flush=True)
            return
        model(compute, sys.argv[1], len(sys.argv) > 2)
        print("computed", flush=True)


main()
