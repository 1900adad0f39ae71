"""The dataset that is one part goes on under another number of writers, other ranks and other blocks: the room for checksums stays
that of its first run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace

from tests import formula
from tests.mpirun import Mpirun
from tests.test_decompositions import check_values

SIZES = formula.Sizes(lev=3, lat=10, lon=7)
LONG_ROWS = formula.Sizes(lev=2, lat=4, lon=16384)

# Of each run: the preset, ranks, ranks a node and decomposition.
Run = tuple[str, int, int, str]
CASES: dict[str, list[Run]] = {
    "fewer": [("shared", 4, 0, "rows"), ("shared", 2, 0, "rows"), ("shared", 3, 0, "rows")],
    "more": [("shared", 2, 0, "rows"), ("shared", 4, 0, "columns")],
    "more-nodes": [("collective", 2, 2, "blocks2d"), ("collective", 4, 1, "irregular")],
    "from-one": [("single", 1, 0, "rows"), ("shared", 3, 0, "amr"), ("collective", 4, 2, "cells")],
    "to-one": [("shared", 3, 0, "columns"), ("single", 2, 0, "rows"), ("single", 1, 0, "one")],
    "one-rank-writes-all": [("shared", 1, 0, "rows"), ("shared", 4, 0, "irregular")],
}


def write(mpirun: Mpirun, folder: Path, run: Run, sizes: formula.Sizes, steps: int, more: str = "") -> None:
    preset, ranks, ranks_per_node, decomposition = run
    options = f"layout = '{preset}'\nsteps = 'all'\nranks_per_node = {ranks_per_node}\n{more}"
    mpirun("write_case", ranks, [folder, "history", options, f"decomposition={decomposition}", f"steps={steps}", sizes.argument])


@pytest.mark.parametrize("extra", [{}, {"compression": "deflate"}])
def test_an_attribute_after_the_last_step(tmp_path: Path, extra: dict[str, Any]) -> None:
    """Of a part that still has room: it is cut to its steps when the stream is closed."""
    values = np.arange(100 * 100, dtype="f8").reshape(100, 100)
    with tailrace.open(tmp_path, "history", layout="single", steps="all", **extra) as stream:
        stream.dim("y", 100)
        stream.dim("x", 100)
        stream.var("v", ("y", "x"), "f8")
        with stream.step(0.0) as output:
            output.put("v", values)
        stream.attributes(note="done")
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["v"][:], values[None])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sizes", [SIZES, LONG_ROWS], ids=["short", "long"])
@pytest.mark.parametrize("case", CASES)
def test_other_writers_go_on(mpirun: Mpirun, tmp_path: Path, case: str, sizes: formula.Sizes) -> None:
    steps = 0
    for run in CASES[case]:
        write(mpirun, tmp_path, run, sizes, 3)
        steps += 3
        check_values(tmp_path, "climate", sizes, steps)
        report = tailrace.verify(tmp_path, "history", deep=True)
        assert report["ok"], report
        assert report["steps"] == steps


@pytest.mark.parametrize(("first", "then"), [("on", "off"), ("off", "on")])
def test_checksums_stay_as_they_are(mpirun: Mpirun, tmp_path: Path, first: str, then: str) -> None:
    write(mpirun, tmp_path, ("shared", 2, 0, "rows"), SIZES, 2, f"checksum = '{first}'")
    with pytest.raises(pytest.fail.Exception, match=f"append with checksum = {first}"):
        write(mpirun, tmp_path, ("shared", 2, 0, "rows"), SIZES, 1, f"checksum = '{then}'")
    check_values(tmp_path, "climate", SIZES, 2)


def test_bytes_of_the_later_run_are_checked(mpirun: Mpirun, tmp_path: Path) -> None:
    """What a run with fewer writers appended is under checksums like the rest."""
    write(mpirun, tmp_path, ("shared", 3, 0, "rows"), SIZES, 1)
    before = (tmp_path / "history.nc").stat().st_size
    write(mpirun, tmp_path, ("shared", 2, 0, "rows"), SIZES, 1)
    data = bytearray((tmp_path / "history.nc").read_bytes())
    value = formula.SETS["climate"][6].all_values(2, SIZES)[1].tobytes()  # U of step 1
    at = bytes(data).find(value, before // 2)
    assert at > 0
    data[at + 5] ^= 1
    (tmp_path / "history.nc").write_bytes(data)
    report = tailrace.verify(tmp_path, "history", deep=True)
    assert [problem["step"] for problem in report["problems"]] == [1], report
