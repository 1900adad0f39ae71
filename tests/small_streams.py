"""Small streams that three ranks write, one for each way in which bytes can lie."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tailrace

from tests.environment import ROOT
from tests.mpis import MPIS

NAME = "history"
STEPS, RANKS, ROWS, COLUMNS = 3, 3, 6, 512
STREAMS: dict[str, dict[str, Any]] = {
    "single": {"layout": "single"},
    "all": {},
    "fpp": {"layout": "fpp"},
    "hds": {"layout": "hds", "ranks_per_node": 2},
    "shared": {"layout": "shared", "steps": 2},
    "split": {"layout": "split:2", "compression": "deflate:1", "chunk": "32 KiB"},
    "compressed": {"compression": "zstd:1", "steps": "all"},
    "ragged": {"layout": "fpp", "steps": 1},
    "static": {"layout": "fpp"},
}
XARRAY = "-xarray"  # behind the name of a stream that its engine reads


def write(folder: str, kind: str) -> None:
    """What each rank runs."""
    from mpi4py import MPI

    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    mine = ROWS // ranks
    with tailrace.open(folder, NAME, **STREAMS[kind]) as stream:
        stream.dim("y", ROWS)
        stream.dim("x", COLUMNS)
        stream.coord("y", np.arange(float(ROWS)), units="m")
        if kind == "static":
            return
        stream.var("T", ("y", "x"), "f8", units="K", _FillValue=np.float64(-1))
        stream.var("n", ("y",), "i4")
        stream.var("mask", ("y", "x"), "i1", static=True)
        if kind == "ragged":
            stream.dim("cell", tailrace.RAGGED)
            stream.var("mass", ("cell",), "f4")
        rows = np.arange(mine) + rank * mine
        for time in range(STEPS):
            with stream.step(float(time)) as step:
                step.put("T", np.add.outer(1000.0 * rows, np.arange(float(COLUMNS))) + time, offset=(rank * mine, 0))
                step.put("n", rows.astype("i4"), offset=(rank * mine,))
                if time == 0:
                    step.put("mask", np.ones((mine, COLUMNS), "i1"), offset=(rank * mine, 0))
                if kind == "ragged":
                    step.put("mass", np.arange(rank + time + 1, dtype="f4"), offset=(tailrace.RAGGED,))


def make(kind: str) -> Callable[[Path], None]:
    def make_stream(folder: Path) -> None:
        program = [sys.executable, "-c", f"from tests.small_streams import write; write({str(folder)!r}, {kind!r})"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
        subprocess.run([*MPIS["openmpi"].launcher, "-n", str(RANKS), *program], env=environment, check=True, stdout=sys.stderr)

    return make_stream
