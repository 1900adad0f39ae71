"""python_planned.py DIRECTORY STEPS KEYS: writes what test_plan_files.py has planned. KEYS is JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tailrace

DIMENSIONS = {"dim0": 24, "dim1": 36, "dim2": 8, "dim3": 9, "dim4": 9}  # names as long as those that a plan takes
VARIABLES: dict[str, tuple[str, ...]] = {
    "T": ("dim0", "dim1"),
    "U": ("dim2", "dim0", "dim1"),
    "square": ("dim3", "dim4"),
    "mass": (),
}


def shape(name: str) -> tuple[int, ...]:
    return tuple(DIMENSIONS[dim] for dim in VARIABLES[name])


def write(folder: Path, steps: int, keys: dict[str, Any], rank: int = 0, ranks: int = 1) -> None:
    with tailrace.open(folder, "h", **keys) as stream:
        for dim, length in DIMENSIONS.items():
            stream.dim(dim, length)
        for name, dims in VARIABLES.items():
            stream.var(name, dims, "f4")
        for number in range(steps):
            with stream.step(float(number)) as step:
                for name in VARIABLES:
                    if not shape(name):
                        step[name] = np.float32(number)
                        continue
                    rows, *others = shape(name)
                    first, end = rows * rank // ranks, rows * (rank + 1) // ranks
                    step.put(name, np.full((end - first, *others), number, "f4"), offset=(first, *[0] * len(others)))


if __name__ == "__main__":
    from mpi4py import MPI

    write(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
