"""Strings in Python: python_strings.py write|read DIRECTORY NAME [LAYOUT STEPS_PER_FILE]; the formula is test_strings.py's."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import tailrace
from mpi4py import MPI

STATIONS, PAIRS, LENGTH, STEPS = 11, 2, 6, 2
RANK, RANKS = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
FIRST, LAST = STATIONS * RANK // RANKS, STATIONS * (RANK + 1) // RANKS


def text(variable: int, step: int, item: int) -> bytes:
    places = range((item * 5 + variable + step) % (LENGTH + 1))
    return bytes(97 + (variable * 7 + step * 5 + (item * LENGTH + place) * 3) % 26 for place in places).ljust(LENGTH)


def strings(variable: int, step: int, *shape: int) -> np.ndarray:
    return np.array([text(variable, step, item) for item in range(int(np.prod(shape)))], f"S{LENGTH}").reshape(shape)


def write(directory: str, name: str, layout: str, steps: str) -> None:
    with tailrace.open(directory, name, layout=layout, steps=steps if steps == "all" else int(steps)) as stream:
        stream.dim("station", STATIONS)
        stream.dim("pair", PAIRS)
        stream.dim("length", LENGTH)
        stream.var("names", ("station", "length"), "S1", static=True, cf_role="timeseries_id")
        stream.var("state", ("station", "length"), "S1", fill_value=b"#")
        stream.var("grid", ("pair", "station", "length"), "S1")
        stream.var("title", ("length",), "S1", replicated=True)
        for number in range(STEPS):
            with stream.step(float(number)) as step:
                step.put("names", strings(1, 0, STATIONS)[FIRST:LAST], offset=(FIRST,))
                step.put("state", strings(2, number, STATIONS)[FIRST:LAST], offset=(FIRST, 0))
                step.put("grid", np.asfortranarray(strings(3, number, PAIRS, STATIONS)[:, FIRST:LAST]), offset=(0, FIRST))
                step["title"] = text(4, number, 0)


def read(directory: str, name: str) -> None:
    with tailrace.open_read(directory, name) as reader:
        for number in range(STEPS):
            reader.select(number)
            mine = slice(FIRST, LAST)
            np.testing.assert_array_equal(reader.get("names", (FIRST,), (LAST - FIRST,)), strings(1, 0, STATIONS)[mine])
            np.testing.assert_array_equal(reader.get("state"), strings(2, number, STATIONS))
            grid = np.full((PAIRS, 2 * (LAST - FIRST)), b"beside", f"S{LENGTH}")
            reader.get("grid", (0, FIRST), out=grid[::-1, ::2])
            np.testing.assert_array_equal(grid[::-1, ::2], strings(3, number, PAIRS, STATIONS)[:, mine])
            assert (grid[:, 1::2] == b"beside").all()
            letters = reader.get("state", (FIRST, 1), (LAST - FIRST, 2))
            assert letters.dtype == "S1"
            expected = strings(2, number, STATIONS)[mine, np.newaxis].view("S1")[:, 1:3]
            np.testing.assert_array_equal(letters, expected)
            assert reader.get("title") == text(4, number, 0)
            assert reader.get_shared("title") == text(4, number, 0)


if __name__ == "__main__":
    mode, *arguments = sys.argv[1:]
    cases: dict[str, Callable[..., None]] = {"write": write, "read": read}
    cases[mode](*arguments)
    print("passed", flush=True)
