"""A model with a restart and a history: python_model.py DIRECTORY OPTIONS STEPS KILLED_STEP KILLED_RANK DELAY_S.

It asks whether there is a restart, goes on from it, and one rank kills itself DELAY_S after it has begun the output of KILLED_STEP
(0: none does). The values of each step follow from those of the step before, without rounding."""

from __future__ import annotations

import os
import signal
import sys
import threading
import tomllib

import numpy as np
import tailrace
from mpi4py import MPI

ROWS, COLUMNS = 8, 1000
STEPS_A_RESTART = 3
MODULUS = 1_000_003


def first_state() -> np.ndarray:
    return np.arange(ROWS * COLUMNS, dtype="i8").reshape(ROWS, COLUMNS)


def next_state(state: np.ndarray, step: int) -> np.ndarray:
    return (state * 31 + np.roll(state, 1, axis=1) + step) % MODULUS


def time_of(step: int) -> float:
    return step * 0.1


def main(directory: str, options: str, steps: int, killed_step: int, killed_rank: int, delay_s: float) -> None:
    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    rows = slice(ROWS * rank // ranks, ROWS * (rank + 1) // ranks)
    offset = (rows.start, 0)
    try:
        restart = tailrace.open_read(directory, "restart")
    except tailrace.NotFound:
        done, state = 0, first_state()[rows]
    else:
        done, state = int(restart.get("step")), np.asarray(restart.get("state"))[rows]
        restart.close()
    keys = tomllib.loads(options)
    history = tailrace.open(directory, "history", layout=keys, mode="resume")
    restarts = tailrace.open(directory, "restart", layout="fpp", steps=1, keep=2, mode="resume")
    for stream in (history, restarts):
        stream.dim("y", ROWS)
        stream.dim("x", COLUMNS)
        stream.var("state", ("y", "x"), "i8")
        stream.var("step", (), "i8")
        stream.attributes("time", units="days since 2000-01-01")
    history.var("area", ("y", "x"), "i8", static=True)
    for step in range(done + 1, steps + 1):
        state = next_state(state, step)
        if step == killed_step and rank == killed_rank:
            threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
        with history.step(time_of(step)) as output:
            output.put("state", state, offset=offset)
            output["step"] = step
            output.put("area", first_state()[rows], offset=offset)
        if step % STEPS_A_RESTART == 0:
            history.flush()  # with overlap its last steps may not be committed yet, and a run goes on behind the restart
            with restarts.step(time_of(step)) as output:
                output.put("state", state, offset=offset)
                output["step"] = step
    if killed_step > 0 and rank == killed_rank:
        threading.Event().wait(10)  # the timer ends it
    restarts.close()
    history.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
