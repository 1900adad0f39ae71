"""python_power_loss.py DIRECTORY OPTIONS FIRST LAST: as python_resume.py, and rank 0 says which steps were accepted."""

from __future__ import annotations

import sys
import tomllib

import tailrace
from mpi4py import MPI
from python_resume import COLUMNS, ROWS, put_step


def write(directory: str, options: str, first: int, last: int) -> None:
    comm = MPI.COMM_WORLD
    begin, end = ROWS * comm.rank // comm.size, ROWS * (comm.rank + 1) // comm.size
    with tailrace.open(directory, "history", comm=comm, layout=tomllib.loads(options)) as stream:
        stream.dim("y", ROWS)
        stream.dim("x", COLUMNS)
        stream.var("T", ("y", "x"), "f8")
        stream.var("area", ("y", "x"), "f8", static=True)
        for time in range(first, last):
            put_step(stream, time, begin, end)
            comm.Barrier()
            tell(comm, f"accepted {time}")
    tell(comm, "closed")


def tell(comm: MPI.Intracomm, text: str) -> None:
    if comm.rank == 0:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
