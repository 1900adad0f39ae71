"""Waves in a basin. Each rank has some rows, and hands them over: mpirun -n 3 python waves_after.py DIRECTORY"""

import sys

import numpy as np
import tailrace
from mpi4py import MPI

ROWS, COLUMNS, STEPS, OUTPUT_EVERY, SPEED = 37, 53, 40, 10, 0.25


def exchange(comm, height):
    """The rim of each block are its neighbours' rows; that of the basin stays 0."""
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    comm.Sendrecv(height[1], above, recvbuf=height[-1], source=below)
    comm.Sendrecv(height[-2], below, recvbuf=height[0], source=above)


def main(directory):
    comm = MPI.COMM_WORLD
    first, end = (ROWS * (comm.rank + part) // comm.size for part in (0, 1))
    y, x = np.mgrid[first - 1 : end + 1, -1 : COLUMNS + 1]
    height = np.where((y - 12) ** 2 + (x - 20) ** 2 < 25, 1.0, 0.0)
    velocity = np.zeros_like(height)
    stream = tailrace.open(directory, "waves", comm=comm)
    stream.dim("y", ROWS)
    stream.dim("x", COLUMNS)
    stream.var("height", ("y", "x"))
    stream.var("velocity", ("y", "x"))
    stream.var("highest")
    for step in range(1, STEPS + 1):
        exchange(comm, height)
        inner = height[1:-1, 1:-1]
        bend = height[:-2, 1:-1] + height[2:, 1:-1] + height[1:-1, :-2] + height[1:-1, 2:] - 4 * inner
        velocity[1:-1, 1:-1] += SPEED * bend
        inner += velocity[1:-1, 1:-1]
        highest = comm.allreduce(inner.max(), MPI.MAX)
        if step % OUTPUT_EVERY == 0:
            with stream.step(step) as output:
                output.put_all({"height": inner, "velocity": velocity[1:-1, 1:-1]}, offset=(first, 0))
                output["highest"] = highest
    stream.close()


if __name__ == "__main__":
    main(sys.argv[1])
