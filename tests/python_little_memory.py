"""Streams one after the other whose exchanges want other shared memory: python_little_memory.py DIRECTORY LAYOUT..."""

from __future__ import annotations

import sys

import numpy as np
import tailrace
from mpi4py import MPI

ELEMENTS = 1 << 20  # of a rank: a writer's ring is as large as it may be
RANK, RANKS = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size

for number, layout in enumerate(sys.argv[2:]):
    with tailrace.open(sys.argv[1], f"s{number}", layout=layout) as stream:
        stream.dim("x", ELEMENTS * RANKS)
        stream.var("u", ("x",), "f8")
        with stream.step(time=0.0) as step:
            begin = ELEMENTS * RANK
            step.put("u", np.arange(begin, begin + ELEMENTS) + float(number), offset=(begin,))
