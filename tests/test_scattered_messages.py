"""What ranks send each other for scattered cells: indices once, and within a node no values."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environment import ROOT
from tests.mpirun import Mpirun

CELLS = 6000
Sent = Callable[..., Counter[str]]
SCRIPT = f"""
import sys, numpy as np, tailrace
from mpi4py import MPI
directory, options, steps, levels = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
mine = np.random.default_rng(1).permutation({CELLS})[rank::ranks]
if options != "read":
    with tailrace.open(directory, "h", layout="fpp", **eval(options)) as stream:
        stream.dim("cell", {CELLS})
        stream.dim("level", levels)
        stream.var("T", ("cell",), "f8")
        stream.var("U", ("level", "cell"), "f4")
        for number in range(steps):
            with stream.step(number) as step:
                step.put("T", mine + 0.5 * number, indices=mine)
                step.put("U", np.stack([mine + number] * levels).astype("f4"), indices=mine, along="cell")
else:
    with tailrace.open_read(directory, "h") as reader:
        for number in reader.steps[:steps]:
            reader.select(number)
            assert (reader.get("T", indices=mine) == mine + 0.5 * number).all()
            assert (reader.get("U", indices=mine, along="cell") == np.stack([mine + number] * levels)).all()
"""


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory, needs: Callable[..., None]) -> Path:
    needs("mpicc")
    library = tmp_path_factory.mktemp("cells") / "cells.so"
    source = ROOT / "tests" / "messages" / "cells.c"
    subprocess.run(["mpicc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, source], check=True)
    return library


@pytest.fixture
def sent(mpirun: Mpirun, counter: Path, tmp_path: Path) -> Sent:
    """Runs the script on 3 ranks. The words of all index lists and the bytes of all cells that were sent."""
    (tmp_path / "cells.py").write_text(SCRIPT)

    def run(options: str, steps: int, levels: int = 2) -> Counter[str]:
        for old in tmp_path.glob("messages.*"):
            old.unlink()
        words = [tmp_path / "out", options, steps, levels]
        mpirun(tmp_path / "cells.py", 3, words, of_ranks={"LD_PRELOAD": counter, "MESSAGES": tmp_path / "messages"})
        counts: Counter[str] = Counter()
        for file in tmp_path.glob("messages.*"):
            for line in file.read_text().splitlines():
                what, count = line.split()
                counts[what] += int(count)
        return counts

    return run


def test_between_nodes_indices_travel_once(sent: Sent) -> None:
    apart = "{'ranks_per_node': 1, 'mode': 'replace'}"
    one, five = sent(apart, 1), sent(apart, 5)
    assert one["indices"] == five["indices"] > CELLS / 2  # two thirds of the cells are in the range of another rank
    assert five["cells"] == 5 * one["cells"] > 5 * CELLS  # 16 bytes of each of them


def test_within_a_node_values_are_not_sent(sent: Sent) -> None:
    options = "{'mode': 'replace'}"
    one, five = sent(options, 1), sent(options, 5)
    assert one["indices"] == five["indices"] > CELLS / 2
    assert one["cells"] == five["cells"] == 0
    assert sent("read", 5) == Counter()  # who reads in shared memory needs no plan


def test_steps_larger_than_the_shared_memory(sent: Sent) -> None:
    """There is room for T and for U, one after the other; but not for a U of four levels."""
    small = "{'mode': 'replace', 'exchange_bytes': '64 KiB'}"
    assert sent(small, 5)["cells"] == 0
    assert sent("read", 5) == Counter()
    assert sent(small, 5, 4)["cells"] > 5 * CELLS
    assert sent("read", 5, 4) == Counter()
