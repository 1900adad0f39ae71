"""Ranks that write a step before they know of the others: python_write_first.py DIRECTORY OPTIONS, on two ranks or more; each rank
prints "passed". The steps in the file are those of STEPS."""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tailrace
from mpi4py import MPI

SHAPE = (12, 4096)
STEPS = range(9)
WORLD = MPI.COMM_WORLD


def values(step: int) -> np.ndarray:
    """By a formula of (step, global index)."""
    return (np.arange(np.prod(SHAPE)).reshape(SHAPE) * 5.0 + step * 31).astype("f8")


def put(step: tailrace.Step, number: int, pieces: int = 1) -> None:
    """This rank's rows, in so many blocks."""
    cuts = np.linspace(0, SHAPE[0], WORLD.size + 1).astype(int)
    for rows in np.array_split(np.arange(cuts[WORLD.rank], cuts[WORLD.rank + 1]), pieces):
        step.put("v", values(number)[rows], offset=(int(rows[0]), 0))


def pending(directory: Path) -> list[Path]:
    return sorted(path for path in (directory / "history.parts").glob(".pending-*") if "index" not in path.name)


def write(stream: tailrace.Stream, number: int, pieces: int = 1) -> None:
    with stream.step(time=float(number)) as step:
        put(step, number, pieces)


def check_others_are_not_waited_for(stream: tailrace.Stream, directory: Path, number: int) -> None:
    """The other ranks have written when rank 0 has not even come; nobody sees it until it has."""
    with stream.step(time=float(number)) as step:
        put(step, number)
        if WORLD.rank == 0:
            deadline = time.monotonic() + 10
            written: list[Path] = []
            while len(written) < WORLD.size - 1 and time.monotonic() < deadline:
                time.sleep(0.01)
                written = [path for folder in pending(directory) for path in folder.glob("*.nc")]
            assert len(written) == WORLD.size - 1, written
            assert stream.step_count == number


def check_failure(stream: tailrace.Stream, directory: Path, number: int, rank: int) -> None:
    """What the others have written of a step that one rank spoils is gone when the stream goes on."""
    expected = ZeroDivisionError if WORLD.rank == rank else tailrace.Error
    try:
        with stream.step(time=float(number)) as step:
            put(step, number)
            if WORLD.rank == rank:
                raise ZeroDivisionError("only here")
    except expected as error:
        said = str(error)
    assert "only here" in said, said  # unbound, and so an error too, when the step was committed
    WORLD.Barrier()
    assert stream.step_count == number
    assert not [path for folder in pending(directory) for path in folder.iterdir()]
    WORLD.Barrier()


def check_disagreement(stream: tailrace.Stream, number: int) -> None:
    try:
        with stream.step(time=float(number + (WORLD.rank == 0))) as step:
            put(step, number)
    except tailrace.RanksDisagree as error:
        said = str(error)
    assert "the time of the step" in said, said
    assert stream.step_count == number


def check_missing_directory(stream: tailrace.Stream, directory: Path, number: int) -> None:
    """The rank that makes the directory comes last."""
    if WORLD.rank == 0:
        for folder in pending(directory):
            folder.rmdir()
    WORLD.Barrier()
    with stream.step(time=float(number)) as step:
        put(step, number)
        time.sleep(0.2 if WORLD.rank == 0 else 0)


def main(arguments: Sequence[str]) -> None:
    directory, options = Path(arguments[0]), tomllib.loads(arguments[1])
    with tailrace.open(directory, "history", **options) as stream:
        stream.dim("lat", SHAPE[0])
        stream.dim("lon", SHAPE[1])
        stream.var("v", ("lat", "lon"), "f8")
        write(stream, 0)
        write(stream, 1)
        check_others_are_not_waited_for(stream, directory, 2)
        check_failure(stream, directory, 3, WORLD.size - 1)
        write(stream, 3)
        again = stream.report()["this_run"]["written_again"]
        assert again == 0, again
        write(stream, 4, pieces=2 if WORLD.rank == WORLD.size - 1 else 1)  # the others' blocks are as planned
        again = stream.report()["this_run"]["written_again"]
        assert again == (0 if WORLD.rank == WORLD.size - 1 else 1), again
        write(stream, 5, pieces=2 if WORLD.rank == WORLD.size - 1 else 1)
        check_disagreement(stream, 6)
        write(stream, 6)
        check_missing_directory(stream, directory, 7)
        check_failure(stream, directory, 8, 0)
        write(stream, 8)
        check_failure(stream, directory, 9, 0)
        assert stream.step_count == len(STEPS)
    print("passed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
