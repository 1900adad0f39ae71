"""python_planned.py DIRECTORY STEPS KEYS [described]: writes what test_plan_files.py has planned. KEYS is JSON.
`described`: with attributes and coordinates."""

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

COORDINATES = {"dim0": "f4", "dim1": "f8"}  # by dimension
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "": {
        "title": "A run of the planned model",
        "history": "begun by hand " * 20,
        "levels": [1, 2, 3],
        "authors": ["A. Writer", "B. Reader"],
    },
    "T": {"units": "K", "long_name": "temperature", "_FillValue": 1e20, "valid_range": [0.0, 400.0]},
    "mass": {"units": "kg", "factor": 2.5},
    "dim0": {"units": "degrees_north", "axis": "Y"},
    "time": {"units": "days since 2026-01-01", "calendar": "noleap"},
}


def shape(name: str) -> tuple[int, ...]:
    return tuple(DIMENSIONS[dim] for dim in VARIABLES[name])


def describe(stream: tailrace.Stream) -> None:
    for name, code in COORDINATES.items():
        stream.coord(name, np.arange(DIMENSIONS[name], dtype=code))
    for variable, attributes in ATTRIBUTES.items():
        stream.attributes(variable or None, **attributes)


def write(folder: Path, steps: int, keys: dict[str, Any], rank: int = 0, ranks: int = 1, *, described: bool = False) -> None:
    with tailrace.open(folder, "h", **keys) as stream:
        for dim, length in DIMENSIONS.items():
            stream.dim(dim, length)
        for name, dims in VARIABLES.items():
            stream.var(name, dims, "f4")
        if described:
            describe(stream)
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

    where = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    write(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), *where, described="described" in sys.argv)
