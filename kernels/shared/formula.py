"""The value of every field of a kernel: the same function as formula.f90, over numpy arrays."""

from __future__ import annotations

import numpy as np

LOW32 = np.uint64(0xFFFFFFFF)


def formula(variable: int, step: int, cell: np.ndarray) -> np.ndarray:
    """Values in (0, 1], multiples of 2**-24 (f64), at the 0-based global positions `cell` of a variable."""
    cell = np.asarray(cell, dtype=np.uint64)
    x = ((cell & LOW32) * np.uint64(1640531527)) & LOW32
    x = (x + np.uint64(variable * 1013904223) + (cell >> np.uint64(32)) * np.uint64(69069)) & LOW32
    x = (x + np.uint64(step * 747796405)) & LOW32
    x ^= x >> np.uint64(16)
    x = (x * np.uint64(2146121005)) & LOW32
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(1759714725)) & LOW32
    x ^= x >> np.uint64(16)
    return ((x >> np.uint64(8)) + np.uint64(1)).astype(np.float64) * 2.0**-24
