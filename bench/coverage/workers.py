"""A worker of multiprocessing writes child.out: workers.py fork|spawn|forkserver."""

import multiprocessing
import sys
from pathlib import Path


def work(size: int) -> None:
    with Path("child.out").open("wb") as file:
        file.write(bytes(size))


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    child = multiprocessing.Process(target=work, args=(70000,))
    child.start()
    child.join()
    sys.exit(child.exitcode)
