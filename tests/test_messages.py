"""The plan against MPI: what the ranks of a run send each other in an exchange is what the plan says, message for message."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import formula
from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.test_system_calls import GRIDS, LAYOUTS, RANKS, plan_of, toml_of

SIZES = formula.Sizes(lev=3, lat=12, lon=10)
# More than one piece of the smallest exchange for each writer: a message a piece.
LARGE = formula.Sizes(lev=11, lat=60, lon=120)


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory, needs: Callable[..., None]) -> Path:
    needs("mpicc")
    library = tmp_path_factory.mktemp("messages") / "count.so"
    source = ROOT / "tests" / "messages" / "count.c"
    subprocess.run(["mpicc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, source], check=True)
    return library


def messages_of(
    mpirun: Mpirun, counter: Path, folder: Path, options: dict[str, str], decomposition: str, sizes: formula.Sizes
) -> list[tuple[int, int, int]]:
    """(from, to, bytes) of every message of a run of one step."""
    words = [folder / "out", "history", toml_of(options), "set=plan", f"decomposition={decomposition}", sizes.argument]
    mpirun("write_case", RANKS, words, of_ranks={"LD_PRELOAD": counter, "MESSAGES": folder / "messages"})
    lines = [line for file in sorted(folder.glob("messages.*")) for line in file.read_text().splitlines()]
    return [(int(sender), int(receiver), int(size)) for sender, receiver, size in map(str.split, lines)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ranks_per_node", [1, 2])
def test_messages_are_those_of_the_plan(
    mpirun: Mpirun, counter: Path, tmp_path: Path, rng: random.Random, layout: str, ranks_per_node: int
) -> None:
    options = LAYOUTS[layout] | {"ranks_per_node": str(ranks_per_node)}
    decomposition = rng.choice(list(GRIDS))
    sent = messages_of(mpirun, counter, tmp_path, options, decomposition, SIZES)
    plans = [plan_of(options, decomposition, SIZES, rank, 1) for rank in range(RANKS)]
    planned = [message for plan in plans for message in plan["rank_plan"]["sends"]]
    assert sorted(planned, key=str) == sorted((m for plan in plans for m in plan["rank_plan"]["receives"]), key=str)
    assert len(planned) == plans[0]["messages"]
    assert sum(message["bytes"] for message in planned) == plans[0]["message_bytes"]
    # Within a node data goes through memory.
    between = [m for m in planned if m["from"] // ranks_per_node != m["to"] // ranks_per_node]
    assert sorted(sent) == sorted((m["from"], m["to"], m["bytes"]) for m in between)
    assert bool(sent) == (layout in BETWEEN_NODES[ranks_per_node])


# Layouts under which some rank's data is written on another node.
BETWEEN_NODES = {
    1: {"single", "split:2", "shared", "collective", "3-all", "2-per-node"},
    2: {"single", "shared", "collective"},
}


def test_large_messages_come_in_pieces(mpirun: Mpirun, counter: Path, tmp_path: Path) -> None:
    options = {"layout": "collective", "ranks_per_node": "2", "exchange_bytes": "64 KiB"}
    sent: Counter[tuple[int, int]] = Counter()
    for sender, receiver, size in messages_of(mpirun, counter, tmp_path, options, "columns", LARGE):
        assert size <= 64 * 1024
        sent[sender, receiver] += size
    plans = [plan_of(options, "columns", LARGE, rank, 1) for rank in range(RANKS)]
    planned = {(m["from"], m["to"]): m["bytes"] for plan in plans for m in plan["rank_plan"]["sends"]}
    assert max(planned.values()) > 64 * 1024
    assert dict(sent) == {pair: size for pair, size in planned.items() if pair[0] // 2 != pair[1] // 2}
