"""The race of the paper: who reads an output when the simulator has ended may read a part of it, or not see it on another node."""

from __future__ import annotations

import os
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from tailrace.ensemble import Ensemble, engines, runner
from tailrace.ensemble.fields import path_of, read_member
from tailrace.ensemble.member import Outcome
from tailrace.ensemble.workers import run_member

from bench import race
from bench.harness import race_members
from tests.clusters import NewCluster
from tests.ensembles import table_of
from tests.environment import HANGS_S

MEMBERS = 20


def test_a_naive_wrapper_reads_a_part_of_what_a_child_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child waits until the wrapper has read."""
    barrier = tmp_path / "barrier"
    os.mkfifo(barrier)
    monkeypatch.setenv("BARRIER", str(barrier))
    directory = race_members.stage(race_members.write_model(tmp_path, race_members.LATE_CHILD), tmp_path / "run", 3)
    race_members.simulate(str(directory))
    assert race_members.read(directory / race_members.OUT, 3) == "a part"
    barrier.open("w").close()  # waits for the child
    end = time.monotonic() + HANGS_S
    while race_members.read(directory / race_members.OUT, 3) != "right":
        assert time.monotonic() < end, "the child has not written"
        time.sleep(0.005)


def test_an_ensemble_reads_the_whole_output(tmp_path: Path) -> None:
    """The child begins to write when its parent, the command of the member, has been waited for."""
    path = race_members.write_ensemble(tmp_path, race_members.LATE_CHILD, MEMBERS, "threads", tmp_path / "scratch")
    assert race_members.tailrace(path, tmp_path / "out", MEMBERS)["right"] == MEMBERS


class LateNode(Executor):
    """Runs members here. What they deliver is first not seen, then empty, then a part, then as an earlier run left it."""

    def __init__(self) -> None:
        self.later: dict[Path, list[bytes]] = {}

    def submit(self, function: Any, /, *arguments: Any, **others: Any) -> Future[Any]:
        assert function is run_member
        outcome: Outcome = run_member(*arguments)
        for path, *_ in runner._delivered(arguments[0], outcome):
            whole = path.read_bytes()
            path.unlink()
            self.later[path] = [b"", whole[:-2], bytes(len(whole)), whole]
        future: Future[Outcome] = Future()
        future.set_result(outcome)
        return future

    def show_more(self, path: Path) -> None:
        if self.later[path]:
            path.write_bytes(self.later[path].pop(0))


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> LateNode:
    """The engine `dask`, on another node."""
    node = LateNode()
    monkeypatch.setitem(engines.OPENERS, "dask", lambda choice, where: node)
    return node


def write_late(folder: Path) -> Path:
    path = race_members.write_ensemble(folder, race_members.PLAIN, 3, "dask", folder / "scratch")
    path.write_text(path.read_text() + '[fields]\nrow = { python = "row.py:row" }\n')
    (folder / "row.py").write_text(
        "import numpy\n\ndef row(directory, parameters):\n    return numpy.arange(4) * parameters['value']\n"
    )
    return path


def test_files_that_are_seen_late_are_waited_for(tmp_path: Path, node: LateNode, monkeypatch: pytest.MonkeyPatch) -> None:
    is_whole = runner._is_whole
    looks: dict[str, list[bool]] = {}

    def look(path: Path, size: int, expected: str) -> bool:
        found = is_whole(path, size, expected)
        looks.setdefault(path.name, []).append(found)
        node.show_more(path)
        return found

    monkeypatch.setattr(runner, "_is_whole", look)
    ensemble = Ensemble(write_late(tmp_path), tmp_path / "out")

    def finished(outcome: Outcome) -> None:
        assert outcome.ok, outcome.message
        assert race_members.read(ensemble.folder.kept / f"{outcome.member:06d}" / race_members.OUT, outcome.member) == "right"
        row = read_member(path_of(ensemble.folder.fields, outcome.member))["row"]
        assert row.values.tolist() == [number * (outcome.member + 0.5) for number in range(4)]

    ensemble.run(finished)
    one = [*4 * [False], True]
    assert looks == {race_members.OUT: 3 * one, "000000.npz": one, "000001.npz": one, "000002.npz": one}
    assert [row["reason"] for row in table_of(tmp_path / "out").values()] == ["", "", ""]


def test_a_file_that_is_never_seen_fails_its_member(tmp_path: Path, node: LateNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "VISIBLE_WITHIN_S", 0.0)
    Ensemble(write_late(tmp_path), tmp_path / "out").run()
    rows = table_of(tmp_path / "out")
    assert [row["reason"] for row in rows.values()] == ["keep"] * 3
    assert "kept/000001/out.txt: not seen whole within 0 s after" in rows[1]["message"]


def test_on_two_nodes_absence_that_is_remembered(new_cluster: NewCluster) -> None:
    """A node of the cluster remembers that the output was not there; the other one writes it."""
    cluster = new_cluster(nodes=2, servers=1)
    race.remember_absence(cluster, 30.0)
    assert race.on_two_nodes(cluster, "naive", MEMBERS)["missing"] > 0
    race.remember_absence(cluster, 1.0)
    found = race.on_two_nodes(cluster, "tailrace", MEMBERS)
    assert found["right"] == MEMBERS
    assert found["asked for before"] > 0
