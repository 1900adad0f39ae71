"""Agents of nodes: their lines, names that several nodes have, waits that end, and what is named before a job ends."""

from __future__ import annotations

import os
import queue
import random
import signal
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tailrace.launch.job_nodes import JobNodes
from tailrace.place.stage_rules import StageNode, read_stage
from tailrace.stage import name_lists
from tailrace.stage.agent_lines import Reader, lines_of
from tailrace.stage.agents import Agents
from tailrace.stage.drain import StageError
from tailrace.stage.job_end import JobEnd, end_of_job
from tailrace.stage.order import StageOrder
from tailrace.stage.staging import Staging

from tests.clusters import until
from tests.fake_nodes import FakeNodes, agents_of


def test_messages_of_many_nodes_may_be_mixed_line_by_line(rng: random.Random) -> None:
    messages = {f"n{node}": {"kind": "x", "paths": ["ü\udcff\n" * rng.randrange(900)]} for node in range(5)}
    waiting = {name: list(lines_of(name, message)) for name, message in messages.items()}
    assert all(len(line) < 700 for lines in waiting.values() for line in lines)
    reader, found = Reader(), {}
    while waiting:
        name = rng.choice(sorted(waiting))
        assert reader.take(rng.choice(("", "Welcome to n1\n", "tailrace-agent\n", "tailrace-agent n7\n"))) is None
        if (message := reader.take(waiting[name].pop(0))) is not None:
            found[message[0]] = message[1]
        if not waiting[name]:
            del waiting[name]
    assert found == messages


def test_the_reader_of_lines_takes_any_text(rng: random.Random) -> None:
    reader = Reader()
    good = list(lines_of("n1", {"kind": "x", "text": "y" * 2000}))
    for _ in range(2000):
        line = rng.choice(good)
        at = rng.randrange(len(line))
        reader.take(line[:at] + rng.choice('\0 .+{}[]"n\n') + line[at + rng.randrange(2) :])
    assert reader.take('tailrace-agent n2 .{"kind": "alive"}\n') == ("n2", {"kind": "alive"})
    assert reader.take("tailrace-agent n2 .[1]\n") is None
    assert reader.take('tailrace-agent n2 .{"kind": 1}\n') is None


def test_the_file_that_was_changed_last_has_the_name() -> None:
    lists = {"n1": {"a": 5, "b": 1, "c": 1}, "n2": {"a": 4, "c": 1}, "n3": {"a": 6, "d": 1}}
    assert name_lists.doubles(lists, {}) == {"a": ("n3", "n1", "n2"), "c": ("n1", "n2")}


def test_the_file_that_is_at_the_target_already_has_the_name() -> None:
    lists = {"n1": {"a": 5}, "n2": {"a": 4, "b": 1, "c": 1}}
    given = {"a": "n2", "b": "n3", "c": "n2", "d": "n1"}
    assert name_lists.doubles(lists, given) == {"a": ("n2", "n1"), "b": ("n3", "n2")}


def test_another_name_hides_no_file(tmp_path: Path) -> None:
    scratch, target = tmp_path / "scratch", tmp_path / "target"
    long = "ü" * 127 + "x"
    for name in ("d/a", "d/a.from-n1", long):
        (scratch / name).parent.mkdir(exist_ok=True, parents=True)
        (scratch / name).write_text(name)
    (target / "d").mkdir(parents=True)
    (target / "d/a.from-n1.2").touch()
    new = name_lists.set_aside(str(scratch), str(target), "n1", ["d/a", long], ["d/a.from-n1.3"])
    assert new["d/a"] == "d/a.from-n1.4"
    assert len(os.fsencode(new[long])) == 250
    assert new[long].endswith(".from-n1")
    assert {path: (scratch / name).read_text() for path, name in new.items()} == {"d/a": "d/a", long: long}
    assert (scratch / "d/a.from-n1").read_text() == "d/a.from-n1"


@pytest.mark.parametrize("text", ["", "[1]", '{"node": "n1"}', '{"node": "n1", "files": {"a": "x"}}'])
def test_a_damaged_list_of_names_is_an_error_with_its_file(tmp_path: Path, text: str) -> None:
    name_lists.write(tmp_path, "n2", {"a\udcff": 3})
    assert name_lists.read(tmp_path) == {"n2": {"a\udcff": 3}}
    (tmp_path / "staged.n1.json").write_text(text)
    with pytest.raises(StageError, match=r"staged\.n1\.json: cannot be read"):
        name_lists.read(tmp_path)


def test_a_node_with_an_odd_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="no name of a file"):
        name_lists.write(tmp_path, "../n1", {})


@pytest.fixture
def nodes(tmp_path: Path, tailrace_command: list[str], monkeypatch: pytest.MonkeyPatch) -> FakeNodes:
    found = FakeNodes(tmp_path, tailrace_command)
    found.log.mkdir()
    (found.base / "out").mkdir()
    monkeypatch.setenv("TMPDIR", found.environment["TMPDIR"])
    return found


def order_of(nodes: FakeNodes) -> StageOrder:
    rules = read_stage(nodes.base / "tailrace.toml")
    assert rules is not None
    return StageOrder.of(rules, nodes.log, is_one_of_several=True)


def test_an_agent_that_does_not_answer_is_lost_after_its_time(nodes: FakeNodes) -> None:
    hangs = nodes.top / "hangs"
    hangs.write_text("#!/bin/sh\necho Welcome; exec sleep 600\n")
    hangs.chmod(0o755)
    agents = Agents(JobNodes(("n2",), (str(hangs),)), order_of(nodes), answer_s=0.2)
    agents.abandon()
    assert agents.nodes == []
    assert [(agent.name, agent.lost_because) for agent in agents.lost] == [("n2", "it has said nothing for 0.2 s")]


def test_an_agent_that_answers_too_late_removes_its_folder(nodes: FakeNodes) -> None:
    late = nodes.top / "late"
    late.write_text(f'#!/bin/sh\nuntil [ -e {nodes.top}/lost ]; do sleep 0.05; done\nexec {nodes.shell} "$@"\n')
    late.chmod(0o755)
    agents = Agents(JobNodes(("n2",), (str(late),)), order_of(nodes), answer_s=0.2)
    assert len(agents.lost) == 1
    (nodes.top / "lost").touch()
    agents._connections[0]._process.wait(120)
    assert (agents.nodes, nodes.all_folders()) == ([], [])
    agents.end()


def test_an_agent_that_is_stopped_is_lost_and_its_files_stay(nodes: FakeNodes) -> None:
    agents = Agents(JobNodes(("n2",), (str(nodes.shell),)), order_of(nodes), silent_s=0.2)
    (node,) = agents.nodes
    (Path(node.scratch) / "out").mkdir()
    (Path(node.scratch) / "out/a").write_text("a")
    stopped = agents_of(nodes.top)["n2"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        agents.begin_look()
        assert agents.looks() == {}
        assert [(agent.name, agent.lost_because) for agent in agents.lost] == [("n2", "it has said nothing for 0.2 s")]
        agents.begin_delivery({})
        found: dict[str, Mapping[str, Any]] = {}
        agents.delivered(found, lambda node, count: None)
        assert found == {}
    finally:
        os.kill(stopped, signal.SIGKILL)
        agents.end()
    assert (Path(node.scratch) / "out/a").read_text() == "a"


def test_two_names_of_a_node_are_one_node(nodes: FakeNodes) -> None:
    second = nodes.top / "second"
    second.write_text(f'#!/bin/sh\nshift; exec {nodes.shell} n1 "$@"\n')
    second.chmod(0o755)
    agents = Agents(JobNodes(("n1", "n1.cluster"), (str(second),)), order_of(nodes))
    assert [node.name for node in agents.nodes] == ["n1"]
    assert not agents.lost
    until(lambda: len(nodes.folders("n1")) == 1, 60)
    agents.abandon()
    assert not nodes.all_folders()


def test_the_node_of_the_command_gets_no_second_scratch(nodes: FakeNodes) -> None:
    second = nodes.top / "second"
    second.write_text('#!/bin/sh\nshift; exec sh -c "$*"\n')
    second.chmod(0o755)
    agents = Agents(JobNodes(("alias",), (str(second),)), order_of(nodes))
    assert (agents.nodes, agents.lost) == ([], [])
    agents.end()
    assert not nodes.all_folders()


def test_before_a_job_ends_each_node_names_what_it_has(nodes: FakeNodes) -> None:
    rules = read_stage(nodes.base / "tailrace.toml")
    assert rules is not None
    said: queue.Queue[str] = queue.Queue()
    staging = Staging(rules, nodes.base / "tailrace.toml", nodes.log, nodes.launch(["true"]), said.put)
    try:
        for node in staging.record.nodes:
            (Path(node.scratch) / "out").mkdir()
            (Path(node.scratch) / f"out/{node.name}").write_text("text")
        staging.name_left(20)
        texts = sorted(said.get(timeout=120) for _ in range(3))
        nodes_by_text = sorted(staging.record.nodes, key=lambda node: node.name)
        assert texts == sorted(text_of(node) for node in nodes_by_text)
    finally:
        staging.abandon()


def text_of(node: StageNode) -> str:
    remedy = f"`tailrace drain resume {node.scratch}` on {node.name} delivers what is left there"
    return f"the job ends in 20 s: not at its target yet: {node.name}:{node.scratch}: 1 file, 4 B: out/{node.name}; {remedy}"


def test_the_end_of_a_job_is_watched_until_the_run_ends() -> None:
    called: queue.Queue[float] = queue.Queue()
    over = JobEnd(called.put, lambda: time.time() - 1)
    over.begin()
    assert called.get(timeout=60) == 0
    over.end()
    for end_s in (time.time() + 3600, None):
        later = JobEnd(called.put, lambda end_s=end_s: end_s)  # type: ignore[misc]
        later.begin()
        later.end()
    JobEnd(called.put).end()
    assert called.empty()


@pytest.mark.parametrize(
    ("said", "end_s"),
    [
        ("2026-11-28T08:18:00", datetime(2026, 11, 28, 8, 18).timestamp()),
        ("N/A", None),
        ("", None),
        ("Unknown", None),
        ("x; exit 1", None),
    ],
)
def test_the_end_of_a_job_is_that_of_its_variable_or_of_squeue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, end_s: float | None
) -> None:
    assert (end_of_job({}), end_of_job({"SLURM_JOB_END_TIME": "17", "SLURM_JOB_ID": "7"})) == (None, 17.0)
    (tmp_path / "squeue").write_text(f'#!/bin/sh\ncase "$*" in *"--jobs 7 "*) echo {said};; esac\n')
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert end_of_job({**os.environ, "SLURM_JOB_ID": "7"}) == end_s
