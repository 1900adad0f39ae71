"""python_power_loss.py DIRECTORY OPTIONS FIRST LAST: as python_resume.py, and rank 0 says which steps were accepted."""

from __future__ import annotations

import sys
import tomllib

from mpi4py import MPI
from python_resume import write_on

COMM = MPI.COMM_WORLD


def tell(text: str) -> None:
    """When all ranks are there: what one of them still writes is not promised yet."""
    COMM.Barrier()
    if COMM.rank == 0:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    first, last = int(sys.argv[3]), int(sys.argv[4])
    write_on(COMM, sys.argv[1], tomllib.loads(sys.argv[2]), first, last, lambda time: tell(f"accepted {time}"))
    tell("closed")
