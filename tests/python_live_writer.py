"""Writes steps as fast as it can, until it is killed: python -m tests.python_live_writer DIRECTORY KEYS STEPS COLUMNS PAUSE_S

KEYS is JSON: the layout keys."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import tailrace

ROWS = 4  # of each rank
LONGEST_S = 120  # also where nobody is left to kill it: then it must not fill the disk


def value(step: int) -> float:
    return 3.0 + step


def main() -> None:
    directory, keys, (steps, columns) = sys.argv[1], json.loads(sys.argv[2]), map(int, sys.argv[3:5])
    pause_s = float(sys.argv[5])
    from mpi4py import MPI

    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    rows = ROWS * ranks
    with tailrace.open(directory, "live", comm=MPI.COMM_WORLD, **keys) as stream:
        stream.dim("y", rows)
        stream.dim("x", columns)
        for name in ("T", "rain", "wind"):
            stream.var(name, ("y", "x"), "f4", units="1")
        stream.var("total", (), "f8")
        first, end = stream.step_count, time.monotonic() + LONGEST_S
        for step in range(first, first + steps):
            with stream.step(float(step)) as out:
                for name in ("T", "rain", "wind"):
                    out.put(name, np.full((ROWS, columns), value(step), "f4"), offset=(ROWS * rank, 0))
                out.put("total", value(step))
            time.sleep(pause_s)
            if time.monotonic() > end:
                break


if __name__ == "__main__":
    main()
