"""python -m tailrace: the command line."""

import atexit
import sys

from tailrace.cli import main


def leave(status: int) -> None:
    """As rank 0 of `mpirun python -m mpi4py.futures`, MPI ends before the process. Otherwise mpi4py calls MPI_Abort for each status
    but 0, which some mpiruns do not survive (Open MPI 4.1.4: 5 of 240 hung or crashed)."""
    if "mpi4py.futures" in sys.modules:
        from mpi4py import MPI

        atexit.register(MPI.Finalize)
    sys.exit(status)


if __name__ == "__main__":  # workers of mpi4py.futures import the file under another name
    leave(main())
