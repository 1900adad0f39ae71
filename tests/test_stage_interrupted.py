"""Ctrl-C and SIGTERM while `tailrace run` delivers: what is left is named with its remedy, nothing is half, all can be resumed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters import until
from tests.environment import ROOT
from tests.fake_nodes import FakeNodes, agents_of
from tests.test_remedies import by_bash, copied

LIMIT_S = 120
FILES = {f"f{number}": bytes([number]) * 600_000 for number in range(6)}  # two are a shipment of 1 MiB
WRITE = "import os; os.makedirs('out', exist_ok=True); [open(f'out/f{n}', 'wb').write(bytes([n]) * 600_000) for n in range(6)]"
# Python starts with this file. Then a drain of `tailrace run` or of its agents waits in the middle, until the file `go` exists.
SITE = """
import sys
if {{"run", "copy"}} & set(sys.orig_argv) or "tailrace.stage.node_agent" in sys.orig_argv:
    from tailrace.stage import drain
    drain.program = lambda: {program!r}
"""
PROGRAM = """#!/bin/sh
if [ "$1" = copy ]; then
    export LD_PRELOAD={faults} DRAIN_STATE="published 1"
    export DRAIN_COMMAND="touch '{top}/reached.$(hostname)'; while [ ! -e '{top}/go' ]; do sleep 0.02; done"
fi
exec {tailraced} "$@"
"""


class Waiting:
    """Runs `tailrace run` with drains that wait in the middle."""

    def __init__(self, top: Path, build_dir: Path, faults: Path) -> None:
        self.top, self.build_dir = top, build_dir
        program = top / "waits"
        program.write_text(PROGRAM.format(faults=faults, top=top, tailraced=build_dir / "bin/tailraced"))
        program.chmod(0o755)
        (top / "site").mkdir()
        (top / "site/sitecustomize.py").write_text(SITE.format(program=str(program)))
        self.environment = {"PYTHONPATH": f"{top}/site:{ROOT}/python"}

    @contextmanager
    def started(self, words: list[str], base: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        with (self.top / "said").open("wb") as said:
            process = subprocess.Popen(words, cwd=base, env={**environment, **self.environment}, stderr=said)
        try:
            yield process
        finally:
            (self.top / "go").touch()
            process.kill()
            process.wait()

    def said(self) -> str:
        return (self.top / "said").read_text()

    def until_reached(self, *nodes: str) -> None:
        until(lambda: all((self.top / f"reached.{node}").exists() for node in nodes), LIMIT_S)


@pytest.fixture
def waiting(tmp_path: Path, build_dir: Path, preloaded: Callable[[str], Path]) -> Waiting:
    return Waiting(tmp_path, build_dir, preloaded("faults/drain"))


@pytest.fixture
def words(tmp_path: Path, tailrace_command: list[str]) -> list[str]:
    for folder in ("run", "scratch"):
        (tmp_path / folder).mkdir()
    stage = f'[stage]\nfiles = ["out/**"]\nscratch = "{tmp_path}/scratch"\nmin_free = "1 B"\nbundle_mib = 1\n'
    (tmp_path / "run/tailrace.toml").write_text(stage)
    config, log = str(tmp_path / "run/tailrace.toml"), str(tmp_path / "log")
    return [*tailrace_command, "run", "--config", config, "--log", log, "--", "python3", "-c", WRITE]


def delivered(base: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (base / "out").iterdir()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_delivery_and_what_is_left_is_named(waiting: Waiting, words: list[str], number: signal.Signals) -> None:
    base = waiting.top / "run"
    with waiting.started(words, base, dict(os.environ)) as process:
        waiting.until_reached(os.uname().nodename)
        process.send_signal(number)
        until(lambda: "A second signal ends this command at once" in waiting.said(), LIMIT_S)
        assert f"interrupted by {number.name}: the delivery stops; `tailrace drain resume" in waiting.said()
        (waiting.top / "go").touch()
        assert process.wait(LIMIT_S) == 128 + number
    said = waiting.said()
    assert "interrupted before all files were delivered: 4 files, 2.3 MiB: out/f2, out/f3, out/f4, out/f5" in said
    assert "the log is in" in said, "the run is recorded as any other"
    assert delivered(base) == {name: FILES[name] for name in ("f0", "f1")}, "what is there is whole"
    assert not list(base.glob(".tailrace-drain-*")), "no unfinished copy is left"
    resumed = by_bash(copied(said, "tailrace drain resume"), waiting.build_dir)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert delivered(base) == FILES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_drain_by_hand(waiting: Waiting, tailrace_command: list[str], number: signal.Signals) -> None:
    scratch, target = waiting.top / "scratch", waiting.top / "target"
    scratch.mkdir(mode=0o700)
    subprocess.run(["python3", "-c", WRITE], cwd=scratch, check=True)
    words = [*tailrace_command, "drain", "copy", str(scratch), str(target), "--bundle-mib", "1"]
    with waiting.started(words, waiting.top, dict(os.environ)) as process:
        waiting.until_reached(os.uname().nodename)
        process.send_signal(number)
        until(lambda: "A second signal ends this command at once" in waiting.said(), LIMIT_S)
        (waiting.top / "go").touch()
        assert process.wait(LIMIT_S) == 2
    said = " ".join(waiting.said().split())
    assert "ended by SIGTERM before all files were delivered" in said, "its drain is ended so"
    assert delivered(target) == {name: FILES[name] for name in ("f0", "f1")}
    resumed = by_bash(copied(said, "tailrace drain resume"), waiting.build_dir)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert delivered(target) == FILES


def test_a_second_signal_ends_the_command_and_all_can_be_resumed(waiting: Waiting, words: list[str]) -> None:
    base = waiting.top / "run"
    with waiting.started(words, base, dict(os.environ)) as process:
        waiting.until_reached(os.uname().nodename)
        for ends in (False, True):
            process.send_signal(signal.SIGINT)
            until(lambda: "A second signal" in waiting.said(), LIMIT_S)
            assert (process.poll() is None) or ends
        assert process.wait(LIMIT_S) == -signal.SIGINT, "while its drain still waits"
    command = copied(waiting.said(), "tailrace drain resume")
    by_bash(command.replace("resume", "wait --deadline 60"), waiting.build_dir)
    resumed = by_bash(command, waiting.build_dir)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert delivered(base) == FILES


def test_on_several_nodes_each_is_named_and_can_be_resumed(waiting: Waiting, tmp_path: Path, tailrace_command: list[str]) -> None:
    nodes = FakeNodes(tmp_path, tailrace_command)
    nodes.configure("bundle_mib = 1\n")
    (nodes.base / "out").mkdir()
    script = "for n in range(4):\n    open(f'out/{rank}.{n}', 'wb').write(b'%d' % rank * 600_000)"
    with waiting.started(nodes.words(nodes.launch(nodes.rank_words(script))), nodes.base, nodes.environment) as process:
        waiting.until_reached(*nodes.names)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 128 + signal.SIGINT
        folders = {node: folder for node in nodes.names for folder in nodes.folders(node)}
    said = waiting.said()
    for node, folder in folders.items():
        remedy = f"`tailrace drain resume {folder}`"
        assert f"{remedy} on {node}" in said.partition("A second signal")[0]
        assert f"{node}: interrupted before its agent has delivered 4 files, 2.3 MiB; it may still do so" in said
        assert f"stays in {node}:{folder}, and {remedy} continues on {node}" in said
    until(lambda: not agents_of(nodes.top), LIMIT_S)  # they continue, or were ended
    for node in nodes.names:
        for folder in nodes.folders(node):
            nodes.drain_on(node, "wait", folder, "--deadline", "60")
            resumed = nodes.drain_on(node, "resume", folder)
            assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert len(folders) == len(nodes.names)
    assert nodes.delivered() == {f"{rank}.{number}": b"%d" % rank * 600_000 for rank in (0, 1) for number in range(4)}
