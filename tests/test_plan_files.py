"""What `tailrace plan` says of the length of files is what a run writes: parts with their metadata, the index and the journal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import tailrace

from tests import python_planned
from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.presets import PRESETS

PROGRAM = ROOT / "tests" / "python_planned.py"


def planned(ranks: int, steps: int, keys: dict[str, Any], *, described: bool = False) -> dict[str, Any]:
    variables: list[dict[str, Any]] = []
    for name in python_planned.VARIABLES:
        shape = python_planned.shape(name)
        variables.append({"name": name, "type": "f4", "shape": shape, "grid": [ranks, *[1] * (len(shape) - 1)] if shape else []})
    words: dict[str, Any] = {}
    if described:
        attributes = python_planned.ATTRIBUTES
        for variable in variables:
            variable["attributes"] = attributes.get(variable["name"], {})
        words["coordinates"] = [
            {"name": name, "type": code, "length": python_planned.DIMENSIONS[name], "attributes": attributes.get(name, {})}
            for name, code in python_planned.COORDINATES.items()
        ]
        words |= {"attributes": attributes[""], "time_attributes": attributes["time"]}
    return tailrace.plan(variables, ranks=ranks, steps=steps, name="h", layout=keys, **words)


def sizes(folder: Path) -> tuple[int, int]:
    """Bytes of the parts, and of the files of the index."""
    of_index = {folder / "h.nc", *(folder / "h.parts" / "index").glob("*.nc")}
    parts = [path for path in (folder / "h.parts").rglob("*.nc") if path not in of_index]
    if not parts:
        parts, of_index = [folder / "h.nc"], set()
    return sum(path.stat().st_size for path in parts), sum(path.stat().st_size for path in of_index)


def check(folder: Path, plan: dict[str, Any]) -> None:
    parts, index = sizes(folder)
    # In a file that grows, a few kilobytes of metadata lie elsewhere where steps come fast.
    bound = {"abs": 0} if plan["layout"]["steps"] == "1" else {"rel": 0.03}
    assert plan["bytes"] + plan["metadata_bytes"] == pytest.approx(parts, **bound)
    assert plan["index_bytes"] == pytest.approx(index, rel=0.01)


CASES: list[tuple[int, dict[str, Any]]] = [
    (1, {"layout": "single"}),
    (3, {"layout": "single"}),
    (200, {"layout": "single"}),
    (7, {"layout": "single", "steps": 3}),
    (5, {"layout": "fpp", "steps": 1}),
    (5, {"layout": "fpp", "steps": 1, "checksum": False}),
    (10, {"layout": "hds", "steps": 4}),
    (300, {"layout": "single", "steps": 1}),
]


@pytest.mark.fast
@pytest.mark.parametrize(("steps", "keys"), CASES, ids=str)
def test_one_rank(tmp_path: Path, steps: int, keys: dict[str, Any]) -> None:
    python_planned.write(tmp_path, steps, keys)
    check(tmp_path, planned(1, steps, keys))


@pytest.mark.parametrize(
    ("steps", "keys"),
    [
        (3, {"layout": "fpp", "steps": 1}),
        (100, {"layout": "fpp", "steps": 1}),
        (6, {"layout": "split:2", "steps": 4}),
        (6, {"layout": "shared"}),
        (3, {"layout": "single", "steps": 1, "alignment": "64 KiB", "align_threshold": "1 KiB"}),
    ],
    ids=str,
)
def test_ranks(mpirun: Mpirun, tmp_path: Path, steps: int, keys: dict[str, Any]) -> None:
    mpirun(sys.executable, 4, [PROGRAM, tmp_path, steps, json.dumps(keys)])
    check(tmp_path, planned(4, steps, keys))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("steps", [1, 30])
@pytest.mark.parametrize("preset", [*PRESETS, "default"])
def test_all_that_is_stored(mpirun: Mpirun, tmp_path: Path, preset: str, steps: int) -> None:
    """With attributes and coordinates: all files of the folder, and their bytes."""
    keys = {} if preset == "default" else {"layout": preset}
    mpirun(sys.executable, 4, [PROGRAM, tmp_path / "out", steps, json.dumps(keys), "described"])
    stored = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    plan = planned(4, steps, keys, described=True)
    check(tmp_path / "out", plan)
    assert plan["stored"]["files"] == len(stored)
    assert plan["stored"]["bytes"] == pytest.approx(sum(path.stat().st_size for path in stored), rel=0.03)
    journal = tmp_path / "out" / "h.parts" / "journal.jsonl"
    assert plan["journal_bytes"] == pytest.approx(journal.stat().st_size, rel=0.05)


def test_attributes_that_cannot_be_stored_are_named() -> None:
    of: list[dict[str, Any]] = [{"name": "T", "shape": [4]}]
    with pytest.raises(tailrace.BadArgument, match="attribute odd = true is neither text nor a number"):
        tailrace.plan(of, ranks=1, attributes={"odd": True})
    with pytest.raises(tailrace.BadArgument, match=r'coordinate .* needs "name" and "length"'):
        tailrace.plan(of, ranks=1, coordinates=[{"name": "x"}])
    with pytest.raises(tailrace.BadArgument, match="type 'f3' is unknown"):
        tailrace.plan(of, ranks=1, coordinates=[{"name": "x", "length": 4, "type": "f3"}])


@pytest.mark.fast
@pytest.mark.parametrize(("ranks", "steps"), [(700, 300), (40, 30_000), (100, 600_000)])
def test_very_many_files_are_counted_by_some_of_them(ranks: int, steps: int) -> None:
    """Twice the steps: twice the bytes, and the rest of the index is small."""
    of = [{"name": "T", "type": "f4", "shape": [7000, 10], "grid": [ranks, 1]}]
    plans = [tailrace.plan(of, ranks=ranks, steps=count, layout={"layout": "fpp", "steps": 1}) for count in (steps, 2 * steps)]
    assert plans[1]["metadata_bytes"] == pytest.approx(2 * plans[0]["metadata_bytes"], rel=0.01)
    assert plans[1]["index_bytes"] == pytest.approx(2 * plans[0]["index_bytes"], rel=0.05)
