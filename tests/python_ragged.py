"""Particles and observations: python_ragged.py write DIRECTORY NAME LAYOUT STEPS, ... read DIRECTORY NAME RANKS_OF_STEPS; as
ragged_case.cpp, with the formula of tests/ragged_formula.py."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import tailrace
from mpi4py import MPI
from ragged_formula import COMPONENTS, FILL, LATITUDES, LETTERS, count_of, names, sometimes, sum_of, values

RANK, RANKS = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


def write(directory: str, name: str, layout: str, more: str) -> None:
    with tailrace.open(directory, name, layout=layout, steps=1) as stream:
        stream.dim("particle", tailrace.RAGGED)
        stream.dim("component", COMPONENTS)
        stream.dim("letter", LETTERS)
        stream.dim("lat", LATITUDES)
        stream.dim("obs", tailrace.RAGGED)
        stream.var("x", ("particle",), "f8", units="m")
        stream.var("velocity", ("particle", "component"), "f4")
        stream.var("name", ("particle", "letter"), "S1")
        stream.var("y", ("obs",), "i4")
        stream.var("sometimes", ("particle",), "f8", fill_value=FILL)
        stream.var("T", ("lat",), "f4")
        stream.var("mass", (), "f8")
        done = stream.step_count
        for number in range(done, done + int(more)):
            before, count = sum_of(number, 0, RANK), count_of(number, RANK)
            x = values(1, number, before, count)
            first = sum_of(number, RANK + 1, RANKS)
            row, end = LATITUDES * RANK // RANKS, LATITUDES * (RANK + 1) // RANKS
            with stream.step(float(number)) as step:
                step.put("x", x[: count // 2])
                step.put("x", x[count // 2 :])
                step.put("velocity", values(2, number, before * COMPONENTS, count * COMPONENTS, "f4").reshape(-1, COMPONENTS))
                step.put("name", names(number, before, count))
                step.put("y", values(4, number, first, count, "i4"), offset=(first,))
                if RANK % 2 == 1:
                    step.put("sometimes", values(5, number, before, count))
                step.put("T", values(6, number, row, end - row, "f4"), offset=(row,))
                step["mass"] = values(7, number, 0, 1)[0]


def read(directory: str, name: str, ranks_of_steps: str) -> None:
    writers = [int(word) for word in ranks_of_steps.split(",")]
    with tailrace.open_read(directory, name) as reader:
        for number in reader.steps:
            reader.select(number)
            total = sum_of(number, 0, writers[number])
            assert reader.dimensions["particle"] == reader.dimensions["obs"] == total
            first, end = total * RANK // RANKS, total * (RANK + 1) // RANKS
            own = ((first,), (end - first,))
            np.testing.assert_array_equal(reader.get("x", *own), values(1, number, first, end - first))
            velocity = values(2, number, 0, total * COMPONENTS, "f4").reshape(-1, COMPONENTS)
            np.testing.assert_array_equal(reader.get("velocity"), velocity)
            np.testing.assert_array_equal(reader.get("name", *own), names(number, first, end - first))
            np.testing.assert_array_equal(reader.get("y", *own), values(4, number, first, end - first, "i4"))
            np.testing.assert_array_equal(reader.get_shared("sometimes"), sometimes(number, writers[number]))
            np.testing.assert_array_equal(reader.get("T"), values(6, number, 0, LATITUDES, "f4"))
            assert reader.get("mass") == values(7, number, 0, 1)[0]
        if RANK == 0:
            print(f"{len(reader.steps)} steps", flush=True)


if __name__ == "__main__":
    mode, *arguments = sys.argv[1:]
    cases: dict[str, Callable[..., None]] = {"write": write, "read": read}
    cases[mode](*arguments)
    print("passed", flush=True)
