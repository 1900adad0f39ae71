"""A model of a mesh: scattered_steps.py DIRECTORY OPTIONS STEPS [KILL_AT].

It writes T(cell, lev), U(lev, cell) and static area(cell) by lists. Steps continue those that are there. The owners of the cells
change every third step. Rank 1 kills itself in step KILL_AT, before it ends. Then every rank reads cells of all steps back,
those of other owners, and compares them.
"""

from __future__ import annotations

import os
import signal
import sys
import tomllib

import numpy as np
import tailrace
from mpi4py import MPI

CELLS, LEVELS = 997, 3


def owned(step: int, rank: int, ranks: int) -> np.ndarray:
    rng = np.random.default_rng(step // 3)
    return rng.permutation(CELLS)[rng.permutation(CELLS) % ranks == rank]


def values(step: int, cells: np.ndarray) -> np.ndarray:
    return cells[:, np.newaxis] * 10.0 + np.arange(LEVELS) + 1e5 * step


def write(directory: str, options: str, steps: int, kill_at: int) -> None:
    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    with tailrace.open(directory, "mesh", **tomllib.loads(options)) as stream:
        stream.dim("cell", CELLS)
        stream.dim("lev", LEVELS)
        stream.var("T", ("cell", "lev"), "f8")
        stream.var("U", ("lev", "cell"), "f4")
        stream.var("area", ("cell",), "i4", static=True)
        done = stream.step_count
        for number in range(done, steps):
            cells = owned(number, rank, ranks)
            data = values(number, cells)
            with stream.step(float(number)) as step:
                step.put("T", data, indices=cells, along="cell")
                step.put("U", data.T.astype("f4"), indices=cells, along="cell")
                if number == done:
                    step.put("area", cells.astype("i4"), indices=cells)
                if number == kill_at and rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)


def read(directory: str) -> None:
    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    with tailrace.open_read(directory, "mesh") as reader:
        for number in reader.steps:
            reader.select(number)
            cells = owned(number + 3, rank, ranks)
            halo = np.append(cells, [0, 0, CELLS - 1])  # which other ranks have, too
            assert (reader.get("T", indices=halo, along="cell") == values(number, halo)).all()
            wide = np.zeros((LEVELS, 2 * len(cells)), "f4")
            reader.get("U", indices=cells, along="cell", out=wide[:, ::2])
            assert (wide[:, ::2] == values(number, cells).T.astype("f4")).all()
            assert (wide[:, 1::2] == 0).all()
            assert (reader.get("area", indices=cells) == cells).all()


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else -1)
    read(sys.argv[1])
