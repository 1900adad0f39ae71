"""The last rank has another directory under the name of the stream's, as on a node that does not mount the file system:
python_unseen_directory.py DIRECTORY OPTIONS; each rank prints "passed" when all attempts told all ranks so and left nothing."""

from __future__ import annotations

import ctypes
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import tailrace
from mpi4py import MPI

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
LENGTH, STEPS = 64, 3
WORLD = MPI.COMM_WORLD
APART = WORLD.size - 1


def hide(directory: Path) -> None:
    kernel = ctypes.CDLL(None, use_errno=True)
    for done in (
        kernel.unshare(CLONE_NEWNS),
        kernel.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None),
        kernel.mount(b"none", os.fsencode(directory), b"tmpfs", 0, None),
    ):
        if done != 0:
            raise OSError(ctypes.get_errno(), "mount")
    (directory / "history.parts").mkdir()  # of another run: the name alone does not tell


def attempts(directory: Path, options: dict[str, Any]) -> list[str]:
    said = []
    try:
        with tailrace.open(directory, "history", **options) as stream:
            stream.dim("x", LENGTH * WORLD.size)
            stream.var("v", ("x",), "f8")
            for number in range(STEPS):
                try:
                    with stream.step(time=float(number)) as step:
                        step.put("v", np.full(LENGTH, float(number)), offset=(LENGTH * WORLD.rank,))
                except tailrace.Error as error:
                    said.append(str(error))
            assert stream.step_count < STEPS
    except tailrace.Error as error:
        said.append(str(error))
    return said


def main() -> None:
    directory = Path(sys.argv[1])
    if WORLD.rank == APART:
        hide(directory)
    options = tomllib.loads(sys.argv[2])
    said = attempts(directory, options)
    assert len(said) >= (1 if "overlap" in options else STEPS), said
    for text in said:
        assert f"rank {APART}: " in text, said
        assert f"{directory}/history.parts" in text, said
    if WORLD.rank == APART:
        assert [*directory.rglob("*")] == [directory / "history.parts"]
    print("passed", flush=True)


if __name__ == "__main__":
    main()
