"""File systems whose clients share no cache, as NFS: statfs says so here (tests/lustre/statfs.c)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tailrace

from tests.error_run import YIELD
from tests.kill_values import check_whole
from tests.mpirun import Mpirun

NFS, EXT4 = "0x6969", "0xef53"
STEPS = 3


@pytest.fixture(scope="module")
def statfs(preloaded: Callable[[str], Path]) -> Path:
    return preloaded("lustre/statfs")


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("kind", [NFS, EXT4])
def test_a_growing_file_is_flushed_and_has_one_writer(
    mpirun: Mpirun, injector: Path, statfs: Path, tmp_path: Path, kind: str, nodes: int
) -> None:
    """Two ranks write one file; on NFS one of them does where they are on two nodes. The arrays are the same."""
    options = f"layout = 'shared'\nsteps = 'all'\nranks_per_node = {2 // nodes}"
    of_ranks = {"LD_PRELOAD": f"{injector}:{statfs}", "STATFS_TYPE": kind}
    mpirun("kill_steps", 2, ["trace", tmp_path, STEPS, options], of_ranks=of_ranks, env=YIELD)
    check_whole(tmp_path / "0", 2 * STEPS + 1)
    calls = [list(calls_on_part(tmp_path / f"0.0.{rank}")) for rank in range(2)]
    first, second = [[call for call in of_rank if call != "journal line"] for of_rank in calls]
    assert ("pwritev" in second) == (kind == EXT4 or nodes == 1)
    flushed, steps = False, 0
    for call in calls[0]:
        if call == "journal line":
            assert flushed == (kind == NFS)
            steps += 1
        flushed = call == "fsync" or (flushed and call != "pwritev")
    assert steps == STEPS
    assert "pwritev" in first
    note = tailrace.contract.list_streams(tmp_path / "0")[0]["storage"]["notes"]
    assert any("share no cache" in text for text in note) == (kind == NFS)


def calls_on_part(trace: Path) -> Iterator[str]:
    """The calls of a rank on the growing file, in their order, and the lines of steps in the journal."""
    for line in trace.read_text().splitlines():
        if not line.startswith("begin"):
            continue
        _begin, _stage, call, _number, address, path, word = line.split("\t")
        if call == "write" and word == "step":
            yield "journal line"
        of_part = path.endswith("history.nc") or ("/.pending-" in path and "writer" not in path)
        # The superblock, and the record of it, follow the line.
        if of_part and (call == "fsync" or (call == "pwritev" and int(address) >= 4096)):
            yield call


def test_plan_says_so() -> None:
    variable = [{"name": "T", "shape": [64, 64]}]
    on_two = tailrace.contract.plan(variable, ranks=4, nodes=2, layout={"layout": "shared", "steps": "all"})
    on_one = tailrace.contract.plan(variable, ranks=4, nodes=1, layout={"layout": "shared", "steps": "all"})
    assert any("NFS" in note for note in on_two["notes"])
    assert not any("NFS" in note for note in on_one["notes"])
