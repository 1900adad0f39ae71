"""python_static.py DIRECTORY OPTIONS TIME ELEMENT: a step with a static array of 1.4 MB. ELEMENT is 1 too large, or none is (-1).

An error is printed by each rank."""

from __future__ import annotations

import sys
import tomllib

import numpy as np
import tailrace
from mpi4py import MPI

ROWS, COLUMNS = 7500, 24


def main(directory: str, options: str, time: int, element: int) -> None:
    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    rows = slice(ROWS * rank // ranks, ROWS * (rank + 1) // ranks)
    mesh = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS)
    if element >= 0:
        mesh.flat[element] += 1
    with tailrace.open(directory, "history", layout=tomllib.loads(options)) as stream:
        stream.dim("y", ROWS)
        stream.dim("x", COLUMNS)
        stream.var("mesh", ("y", "x"), "f8", static=True)
        stream.var("T", ("y",), "f4")
        try:
            with stream.step(time) as step:
                # Two blocks, which are strided in memory and no contiguous part of the array.
                step.put("mesh", mesh[rows, :12], offset=(rows.start, 0))
                step.put("mesh", mesh[rows, 12:], offset=(rows.start, 12))
                step.put("T", np.full(rows.stop - rows.start, time, "f4"), offset=(rows.start,))
        except tailrace.Error as error:
            print(error, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
