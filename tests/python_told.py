"""Programs for test_told.py: python_told.py CASE [ARGUMENTS]; files go to the working directory."""

from __future__ import annotations

import os
import re
import signal
import sys

import numpy as np
import tailrace
from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def step_of(stream: tailrace.Stream, time: float, value: float) -> None:
    with stream.step(time) as step:
        step["mass"] = value


def opened(name: str = "history", comm: MPI.Comm = WORLD) -> tailrace.Stream:
    stream = tailrace.open(".", name, comm=comm)
    stream.var("mass")
    return stream


def writes() -> None:
    with opened() as stream:
        step_of(stream, 0.0, 1.0)


def raises() -> None:
    stream = tailrace.open(".", "history", layout="fpp")
    stream.var("mass")
    step_of(stream, 0.0, 1.0)
    raise ValueError("the model failed")


def killed() -> None:
    stream = opened()
    step_of(stream, 0.0, 1.0)
    os.kill(os.getpid(), signal.SIGKILL)


def aborts() -> None:
    stream = opened()
    step_of(stream, 0.0, 1.0)
    WORLD.Abort(3)


def apart() -> None:
    comm = WORLD.Split(WORLD.rank)
    with opened("atmosphere" if WORLD.rank == 0 else "ocean", comm) as stream:
        step_of(stream, 0.0, 1.0)


def disagree(case: str, folder: str, message: str) -> None:
    text = ""
    try:
        make_it_disagree(case, folder, WORLD.rank % 2 == 1)
    except tailrace.RanksDisagree as error:
        text = str(error)
    assert re.search(message, text), text
    assert len(set(WORLD.allgather(text))) == 1
    print("passed")


def make_it_disagree(case: str, folder: str, other: bool) -> None:
    stream = tailrace.open(folder, "history", layout="hds" if case == "options" and other else "fpp")
    stream.dim("x", 9 if case == "dimension" and other else 8)
    names = ("U", "T") if case == "order" and other else ("T", "U")
    for name in names:
        stream.var(name, ("x",), "f4" if case == "type" and other and name == "T" else "f8")
    if case == "attribute":
        stream.attributes("T", scale_factor=np.array([0.5, 3.0 if other else 2.0]))
    if case == "stream-attribute" and not other:
        stream.attributes(title="a")
    for number in range(2):
        with stream.step(2.0 if case == "time" and other else number + 1.0) as step:
            for name in names:
                code = stream.variables[name]["type"]
                step.put(name, np.ones(2, code), offset=(2 * WORLD.rank,))
    stream.close()
    reader = tailrace.open_read(folder, "history")
    if case == "step":
        reader.select(1 if other else 0)
    reader.get_shared("U" if other else "T")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
