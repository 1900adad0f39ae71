"""Cells that ranks own in no order: what is stored and how much, restarts on other ranks, kills, blocks that are taken as lists."""

from __future__ import annotations

import re
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import tailrace

from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.scattered_steps import CELLS, LEVELS, values

PROGRAM = ROOT / "tests" / "scattered_steps.py"
OPTIONS = {
    "fpp": "layout = 'fpp'",
    "node": "layout = 'node'\nexchange_bytes = '64 KiB'",
    "shared": "layout = 'shared'\nsteps = 2",
    "default": "",
    "split": "layout = 'split:2'\nranks_per_node = 1",
    "compressed": "layout = 'node'\ncompression = 'deflate:1'",
    "overlap": "layout = 'fpp'\noverlap = 2",
}


def bytes_in(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def check(directory: Path, steps: int) -> None:
    """Plain readers see the global order."""
    cells = np.arange(CELLS)
    with netCDF4.Dataset(directory / "mesh.nc") as file:
        assert len(file["time"]) == steps
        for step in range(steps):
            assert (file["T"][step] == values(step, cells)).all()
            assert (file["U"][step] == values(step, cells).T.astype("f4")).all()
        assert (file["area"][:] == cells).all()
    assert tailrace.verify(directory, "mesh", deep=True)["ok"]


@pytest.mark.parametrize("layout", OPTIONS)
def test_a_run_is_continued_on_other_ranks(mpirun: Mpirun, tmp_path: Path, layout: str) -> None:
    """Owners change within a run and with the number of ranks."""
    mpirun(PROGRAM, 3, [tmp_path, OPTIONS[layout], 5])
    check(tmp_path, 5)
    mpirun(PROGRAM, 2, [tmp_path, OPTIONS[layout], 7])
    check(tmp_path, 7)


@pytest.mark.parametrize("layout", ["fpp", "node", "default", "overlap"])
def test_a_rank_that_is_killed_leaves_whole_steps(mpirun: Mpirun, tmp_path: Path, layout: str) -> None:
    mpirun(PROGRAM, 2, [tmp_path, OPTIONS[layout], 6, 4], check=False)
    committed = len(tailrace.list_streams(tmp_path)[0]["steps"])
    assert committed <= 4 if layout == "overlap" else committed == 4
    mpirun(PROGRAM, 3, [tmp_path, OPTIONS[layout], 6])
    check(tmp_path, 6)


def test_many_small_blocks_are_taken_as_a_list(mpirun: Mpirun, tmp_path: Path) -> None:
    """A block of one element used to be an array of its own: 2.5 KB."""
    script = tmp_path / "cells.py"
    script.write_text(
        "import sys, numpy as np, tailrace\n"
        "from mpi4py import MPI\n"
        "rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size\n"
        "mine = np.flatnonzero(np.random.default_rng(1).integers(0, ranks, 1200) == rank)\n"
        "with tailrace.open(sys.argv[1], 'h', layout='fpp') as stream:\n"
        "    stream.dim('cell', 1200)\n"
        "    stream.var('T', ('cell',), 'f8')\n"
        "    for number in range(3):\n"
        "        with stream.step(number) as step:\n"
        "            for cell in mine:\n"
        "                step.put('T', np.array([cell + 0.5 * number]), offset=(cell,))\n"
    )
    mpirun(script, 2, [tmp_path / "out"])
    with netCDF4.Dataset(tmp_path / "out" / "h.nc") as file:
        assert (file["T"][:] == np.arange(1200) + 0.5 * np.arange(3)[:, np.newaxis]).all()
    assert bytes_in(tmp_path / "out") < 20 * 3 * 1200 * 8


def test_an_overlap_names_both_ranks_and_the_index(mpirun: Mpirun, tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(
        "import sys, numpy as np, tailrace\n"
        "from mpi4py import MPI\n"
        "rank = MPI.COMM_WORLD.rank\n"
        "stream = tailrace.open(sys.argv[1], 'h')\n"
        "stream.dim('cell', 5)\n"
        "stream.var('T', ('cell',), 'f8')\n"
        "for lists in ([[0, 2, 4], [1, 2, 3]], [[0, 2, 4], [1, 5]], [[0, 2], [1, 3]]):\n"
        "    try:\n"
        "        with stream.step(0.0) as step:\n"
        "            step.put('T', np.zeros(len(lists[rank])), indices=lists[rank])\n"
        "    except tailrace.Error as error:\n"
        "        if rank == 0: print(error)\n"
        "stream.close()\n"
    )
    told = mpirun(script, 2, [tmp_path / "out"]).stdout.splitlines()
    assert re.search(r"variable 'T': index 2 of dimension 'cell' is in the list of rank 0 and of rank 1", told[0])
    assert re.search(r"rank 1: variable 'T': index 5, number 1 of a list, leaves dimension 'cell' of length 5", told[1])
    assert re.search(r"variable 'T': no rank has index 4 of dimension 'cell'; put it on some rank", told[2])


def test_indices_that_are_none_are_refused(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "h") as stream:
        stream.dim("cell", 4)
        stream.dim("lev", LEVELS)
        stream.var("T", ("cell",), "f8")
        stream.var("U", ("cell", "lev"), "f8")
        with stream.step(0.0) as step:
            with pytest.raises(TypeError, match="flatnonzero"):
                step.put("T", np.zeros(4), indices=np.ones(4, bool))
            with pytest.raises(TypeError, match="list of integers"):
                step.put("T", np.zeros(4), indices=[0.0, 1.0, 2.0, 3.0])
            with pytest.raises(tailrace.BadArgument, match="along='cell'"):
                step.put("U", np.zeros((4, LEVELS)), indices=[0, 1, 2, 3])
            with pytest.raises(tailrace.BadShape, match="needs shape"):
                step.put("T", np.zeros(3), indices=[0, 1, 2, 3])
            step.put("T", np.arange(4.0), indices=[3, 2, 1, 0])
            step.put("U", np.arange(12.0).reshape(4, LEVELS), indices=range(4), along="cell")
    with tailrace.open_read(tmp_path, "h") as reader:
        assert reader.get("T").tolist() == [3, 2, 1, 0]
        assert reader.get("T", indices=[]).tolist() == []
        with pytest.raises(tailrace.BadShape, match="index -1"):
            reader.get("T", indices=[-1])
        with pytest.raises(tailrace.BadArgument, match="along"):
            reader.get("U", indices=[0])


def test_strings_are_put_by_lists(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "h") as stream:
        stream.dim("station", 3)
        stream.var("name", ("station",), "S6")
        with stream.step(0.0) as step:
            step.put("name", ["Zug", "Bergen", "Aa"], indices=[2, 0, 1])
    with tailrace.open_read(tmp_path, "h") as reader:
        assert reader.get("name").tolist() == [b"Bergen", b"Aa", b"Zug"]
        assert reader.get("name", indices=[2, 2]).tolist() == [b"Zug", b"Zug"]
