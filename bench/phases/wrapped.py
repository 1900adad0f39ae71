# wrapped.py STEPS: the program of wrapped.c in Python. All functions call MPI through mpi4py.
import os
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
lines: list[str] = []
io_s = 0.0
PIECE = bytes(1 << 20)


def barrier(phase: str) -> None:
    global io_s
    lines.append(f"{phase} {time.monotonic():.9f} {io_s:.9f}\n")
    comm.Barrier()
    io_s = 0.0


def put(name: str, pieces: int) -> None:
    global io_s
    begin = time.monotonic()
    with open(name, "wb", buffering=0) as file:
        for _ in range(pieces):
            file.write(PIECE)
        os.fsync(file.fileno())
    io_s += time.monotonic() - begin


def advance() -> None:
    time.sleep(0.04 + 0.01 * comm.rank)
    barrier("advance")


def exchange() -> None:
    time.sleep(0.04)
    barrier("exchange")


def write_fields() -> None:
    put(f"field{comm.rank}.dat", 24)
    barrier("write_fields")


def write_restart() -> None:
    if comm.rank == comm.size - 1:
        put(f"restart{comm.rank}.dat", 48)
    barrier("write_restart")


barrier("start")
for _ in range(int(sys.argv[1])):
    advance()
    exchange()
    write_fields()
    write_restart()
with open(f"truth.{comm.rank}", "w") as truth:
    truth.writelines(lines)
