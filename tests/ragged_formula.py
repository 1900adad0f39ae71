"""What ragged_case.cpp, fortran_ragged.f90 and python_ragged.py write: by variable, step and global index."""

from __future__ import annotations

import numpy as np

COMPONENTS, LETTERS, LATITUDES = 3, 4, 5
FILL = -1.0


def values(variable: int, step: int, first: int, count: int, dtype: str = "f8") -> np.ndarray:
    return (variable * 1000000.0 + step * 10000.0 + first + np.arange(count)).astype(dtype)


def names(step: int, first: int, count: int) -> np.ndarray:
    letters = 97 + (step * 7 + (first * LETTERS + np.arange(count * LETTERS)) * 3) % 26
    return letters.astype("u1").view(f"S{LETTERS}")


def count_of(step: int, rank: int) -> int:
    """Of a rank: nothing on rank 0 in step 0, on no rank anything in step 1."""
    return 0 if step == 1 else (rank * 3 + step * 2) % 5


def sum_of(step: int, first: int, end: int) -> int:
    return sum(count_of(step, rank) for rank in range(first, end))


def sometimes(step: int, writers: int) -> np.ndarray:
    """Of particles that ranks of an even number had, nothing is written."""
    result = values(5, step, 0, sum_of(step, 0, writers))
    for rank in range(0, writers, 2):
        result[sum_of(step, 0, rank) : sum_of(step, 0, rank + 1)] = FILL
    return result
