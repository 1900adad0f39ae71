"""python -m tailrace: the command line."""

import sys

from tailrace.cli import main

if __name__ == "__main__":  # workers of mpi4py.futures import the file under another name
    sys.exit(main())
