"""Files x writers x steps x tree: what docs/keys.md calls written holds every value, and the rest is refused as it says. Two ranks
more are there where two only write."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
import tailrace

from tests import formula
from tests.environment import ROOT
from tests.error_run import run_triples
from tests.matrix import DECOMPOSITIONS
from tests.mpirun import Mpirun
from tests.written import check_values

FILES, WRITERS = ("one", "2", "per-node", "per-rank"), ("one", "per-node", "all", "dedicated:2")
STEPS, TREES = ("1", "2", "all"), ("flat", "8")
WRITTEN = [(files, writers) for files in FILES[:3] for writers in WRITERS] + [("per-rank", "one")]
SIZES = formula.Sizes(lev=3, lat=10, lon=7)
# Rows of 64 KiB and more, which their owners write where all write.
LONG_ROWS = formula.Sizes(lev=2, lat=4, lon=16384)

Combination = tuple[str, str, str, str]


def documented() -> dict[Combination, str]:
    """The table of docs/keys.md: the text that refuses a combination, "" where it is written."""
    section = (ROOT / "docs" / "keys.md").read_text().split("## Combinations")[1].split("\n## ")[0]
    texts = dict(re.findall(r"^(\d+)\. (.*)$", section, re.MULTILINE))
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    columns = [re.fullmatch(r"steps = (\w+), tree = (\w+)", cell).groups() for cell in rows[0][2:]]  # type: ignore[union-attr]
    table: dict[Combination, str] = {}
    for files, writers, *cells in rows[2:]:
        for (steps, tree), cell in zip(columns, cells, strict=True):
            refused = re.fullmatch(r"refused \((\d+)\)", cell)
            assert refused or cell == "written", cell
            table[files, writers, steps, tree] = texts[refused[1]] if refused else ""
    return table


def toml_of(combination: Combination, more: Mapping[str, str] | None = None) -> str:
    keys = dict(zip(("files", "writers", "steps", "tree"), combination, strict=True)) | dict(more or {})
    return "\n".join(f"{key} = '{value}'" for key, value in keys.items())


def test_table_has_all_combinations() -> None:
    table = documented()
    assert set(table) == set(product(FILES, WRITERS, STEPS, TREES))
    assert {combination[:2] for combination, refusal in table.items() if not refusal} == set(WRITTEN)
    for combination, refusal in table.items():
        assert (combination[:2] in WRITTEN) == (refusal == ""), combination


def test_refused_with_the_documented_text_on_all_ranks(mpirun: Mpirun, tmp_path: Path) -> None:
    refused = [(combination, text) for combination, text in documented().items() if text]
    triples = [(tmp_path / str(number), toml_of(combination), "none") for number, (combination, _) in enumerate(refused)]
    for (combination, text), calls in zip(refused, run_triples(mpirun, 3, triples), strict=True):
        status, message = calls.outcome("open")
        assert len(calls.of("open")) == 3
        assert status == ("BAD_LAYOUT" if "contradicts" in text else "UNSUPPORTED"), combination
        assert message.split(": ", 1)[1] == text, combination  # what the status means stands before it
    assert not any(tmp_path.rglob("history*")), "nothing is begun under a layout that is refused"


def write(mpirun: Mpirun, folder: Path, ranks: int, options: str, decomposition: str, steps: int, sizes: formula.Sizes) -> None:
    choices = [f"decomposition={decomposition}", f"steps={steps}", sizes.argument]
    if "dedicated:2" in options:
        ranks, choices = ranks + 2, [*choices, "dedicated=2"]
    mpirun("write_case", ranks, [folder, "history", options, *choices])


def check(folder: Path, steps: int, sizes: formula.Sizes) -> None:
    check_values(folder, "climate", sizes, steps)
    report = tailrace.verify(folder, "history", deep=True)
    assert report["ok"], report


@pytest.mark.sampled(5)
@pytest.mark.parametrize("steps_per_file", STEPS)
@pytest.mark.parametrize(("files", "writers"), WRITTEN)
def test_written(mpirun: Mpirun, tmp_path: Path, rng: random.Random, files: str, writers: str, steps_per_file: str) -> None:
    """Under each tree: two runs, the second on other ranks unless it goes on with the one part of the first."""
    for tree in TREES:
        folder = tmp_path / tree
        ranks, nodes = rng.choice([(3, 2), (4, 2), (4, 1), (4, 4)])
        more = {"ranks_per_node": str(-(-ranks // nodes)), "exchange_bytes": "64 KiB"}
        options = toml_of((files, writers, steps_per_file, tree), more)
        decomposition = rng.choice(DECOMPOSITIONS)
        write(mpirun, folder, ranks, options, decomposition, 11, SIZES)
        check(folder, 11, SIZES)
        entries = [len(list(path.iterdir())) for path in (folder / "history.parts").rglob("*") if path.is_dir()]
        assert tree == "flat" or max(entries, default=0) <= 8
        ranks = ranks if (files, steps_per_file) == ("one", "all") else rng.choice([2, 3, 4] if "2" in writers else [1, 2, 3, 4])
        write(mpirun, folder, ranks, options, decomposition, 2, SIZES)
        check(folder, 13, SIZES)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("files", "writers"), [pair for pair in WRITTEN if pair[1] != "one"])
def test_long_rows(mpirun: Mpirun, tmp_path: Path, files: str, writers: str) -> None:
    """Beside rows that their owners write there are short ones that are gathered."""
    options = toml_of((files, writers, "2", "flat"), {"ranks_per_node": "2"})
    write(mpirun, tmp_path, 4, options, "rows", 3, LONG_ROWS)
    check(tmp_path, 3, LONG_ROWS)
