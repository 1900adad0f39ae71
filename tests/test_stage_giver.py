"""What a node does while the program runs: it delivers closed files, names them, and renames folders."""

from __future__ import annotations

import os
import queue
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tailrace.stage import given_names, job_thread, name_lists
from tailrace.stage.bundle_words import Move
from tailrace.stage.drain import StageError
from tailrace.stage.giver import Giver, Outcome, Purpose, Result
from tailrace.stage.node_staging import NodeStaging
from tailrace.stage.order import OtherNodes, StageOrder


@pytest.fixture
def staging(tmp_path: Path) -> Iterator[NodeStaging]:
    for name in ("run/out", "scratch", "log"):
        (tmp_path / name).mkdir(parents=True, mode=0o700)
    run = str(tmp_path / "run")
    order = StageOrder(
        base=run,
        target=run,
        sink="mirror",
        bundle_bytes=1 << 20,
        compression="none",
        scratch=str(tmp_path / "scratch"),
        while_running=False,
        make_room_bytes=0,
        log=str(tmp_path / "log"),
        other_nodes=OtherNodes.ASKED,
    )
    found = NodeStaging(order)
    (Path(found.record.scratch) / "out").mkdir()
    (tmp_path / "log/1.trace").touch()
    yield found
    found.abandon()


@pytest.fixture
def giver(staging: NodeStaging, monkeypatch: pytest.MonkeyPatch) -> Iterator[Giver]:
    monkeypatch.setattr(Giver, "_torn_names", lambda giver: frozenset({"out/torn"}))
    found = Giver(staging.record.scratch, staging.order, "n1")
    yield found
    found.end()


def result_of(giver: Giver, path: str) -> Result:
    found: queue.Queue[Result] = queue.Queue()
    giver.give(path, found.put, lambda: None)
    return found.get(timeout=120)


def test_only_closed_files_are_given(staging: NodeStaging, giver: Giver, tmp_path: Path) -> None:
    scratch, target = Path(staging.record.scratch), tmp_path / "run"
    for name in ("closed", "open", "torn", "other"):
        (scratch / "out" / name).write_text(name)
    (scratch / "out/closed").chmod(0o640)
    os.utime(scratch / "out/closed", ns=(5, 7))
    with open(scratch / "out/open", "ab"):
        assert result_of(giver, "out/open") == Result(Outcome.NOT_WHOLE)
    assert result_of(giver, "out/torn") == Result(Outcome.NOT_WHOLE)
    (scratch / "out/torn").rename(scratch / "out/renamed")
    assert result_of(giver, "out/renamed") == Result(Outcome.NOT_WHOLE)
    (scratch / "out/renamed").rename(scratch / "out/torn")
    assert result_of(giver, "out/closed") == result_of(giver, "out/closed") == Result(Outcome.GIVEN)
    assert result_of(giver, "out/open") == Result(Outcome.GIVEN)
    assert {path.name: path.read_text() for path in (target / "out").iterdir()} == {"closed": "closed", "open": "open"}
    now = (target / "out/closed").stat()
    assert (stat.S_IMODE(now.st_mode), now.st_mtime_ns) == (0o640, 7)
    assert sorted(path.name for path in (scratch / "out").iterdir()) == ["other", "torn"]
    assert (giver.delivered[Purpose.ASKED].files, giver.delivered[Purpose.ASKED].bytes) == (2, len("closedopen"))
    assert given_names.read(tmp_path / "log", str(target)) == {"out/closed": "n1", "out/open": "n1"}


def names_of(giver: Giver, folder: str) -> Result:
    found: queue.Queue[Result] = queue.Queue()
    giver.names_in(folder, found.put, lambda: None)
    return found.get(timeout=120)


def test_only_closed_files_are_named(staging: NodeStaging, giver: Giver) -> None:
    scratch = Path(staging.record.scratch)
    for name in ("top", "out/closed", "out/open", "out/torn", "out/\udcff\n", "out/in/deep"):
        (scratch / name).parent.mkdir(exist_ok=True)
        (scratch / name).touch()
    (scratch / "out/link").symlink_to("closed")
    os.mkfifo(scratch / "out/fifo")
    with open(scratch / "out/open", "ab"):
        assert sorted(names_of(giver, "out").names) == ["fclosed", "f\udcff\n"]
    assert sorted(names_of(giver, "out").names) == ["fclosed", "fopen", "f\udcff\n"]
    assert names_of(giver, "") == Result(Outcome.GIVEN, names=("ftop",))
    assert names_of(giver, "out/in") == Result(Outcome.GIVEN, names=("fdeep",))
    assert names_of(giver, "none") == names_of(giver, "top") == Result(Outcome.GIVEN)
    assert names_of(giver, "..").outcome is Outcome.FAILED
    assert names_of(giver, ".tailrace-drain").outcome is Outcome.FAILED
    assert sorted(path.name for path in (scratch / "out").iterdir()) == ["closed", "fifo", "in", "link", "open", "torn", "\udcff\n"]


def moved(giver: Giver, source: str, to: str, is_back: bool = False) -> Result:
    found: queue.Queue[Result] = queue.Queue()
    giver.move(Move(source, to, is_back), found.put, lambda: None)
    return found.get(timeout=120)


def test_a_folder_on_scratch_gets_the_name_that_another_node_gives_it(staging: NodeStaging, giver: Giver, tmp_path: Path) -> None:
    scratch, target = Path(staging.record.scratch), tmp_path / "run"
    (scratch / "out/old").mkdir()
    (scratch / "out/old/file").write_text("text")
    (scratch / "top").write_text("text")
    (target / "deep/er").mkdir(parents=True)
    (target / "deep").chmod(0o2750)
    given = Result(Outcome.GIVEN)
    assert moved(giver, "out/none", "out/new") == moved(giver, "top", "out/new") == given
    assert moved(giver, "out/old", "deep/er/new") == given
    assert (scratch / "deep/er/new/file").read_text() == "text"
    assert stat.S_IMODE((scratch / "deep").stat().st_mode) == 0o2750
    assert moved(giver, "out/old", "deep/er/new", is_back=True) == moved(giver, "out/old", "deep/er/new", is_back=True) == given
    assert (scratch / "out/old/file").read_text() == "text"
    for source, to in (("out/old", "absent/new"), ("out/old", "../new"), ("out/old", ".tailrace-drain/new"), ("out/old", "top")):
        assert moved(giver, source, to).outcome is Outcome.FAILED, to
    assert (scratch / "out/old/file").read_text() == "text"


def test_a_folder_that_another_rename_has_filled_is_not_taken_back(staging: NodeStaging, giver: Giver) -> None:
    """The node has refused the new name, so what is there is not the folder of the rename."""
    scratch = Path(staging.record.scratch)
    for name in ("out/old/file", "out/new/other"):
        (scratch / name).parent.mkdir()
        (scratch / name).touch()
    refused = moved(giver, "out/old", "out/new")
    assert refused.outcome is Outcome.FAILED
    assert "out/old cannot be renamed to out/new on scratch" in refused.why
    assert moved(giver, "out/old", "out/new", is_back=True) == Result(Outcome.GIVEN)
    assert sorted(str(path.relative_to(scratch / "out")) for path in (scratch / "out").rglob("*")) == [
        "new",
        "new/other",
        "old",
        "old/file",
    ]


def test_a_folder_that_was_made_again_under_its_name_is_looked_at_anew(staging: NodeStaging, giver: Giver) -> None:
    scratch = Path(staging.record.scratch)
    for number in range(3):
        (scratch / "out").mkdir(exist_ok=True)
        (scratch / f"out/{number}").touch()
        assert result_of(giver, f"out/{number}") == Result(Outcome.GIVEN)
        assert not (scratch / f"out/{number}").exists()
        (scratch / "out").rename(scratch / f"old.{number}")


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../log/1.trace", "out/../../x", "out//a", ".tailrace-drain/run.json", "out", "a\0b", "x" * 300]
)
def test_a_path_that_is_no_file_on_scratch_is_not_given(giver: Giver, path: str) -> None:
    assert not giver.has(path)
    assert result_of(giver, path).outcome in (Outcome.FAILED, Outcome.GIVEN)
    assert giver.delivered[Purpose.ASKED].files == 0


def test_after_the_death_of_the_drain_the_next_file_is_given(staging: NodeStaging, giver: Giver) -> None:
    scratch = Path(staging.record.scratch)
    for name in ("a", "b", "c"):
        (scratch / "out" / name).touch()
    assert result_of(giver, "out/a") == Result(Outcome.GIVEN)
    process = giver._groups._process
    assert process is not None
    process.kill()
    process.wait()
    failed = result_of(giver, "out/b")
    assert (failed.outcome, failed.why) == (
        Outcome.FAILED,
        f"`tailraced give {scratch} {staging.order.base}` has ended while it worked",
    )
    assert not (Path(staging.order.base) / "out/b").exists()
    assert given_names.read(Path(staging.order.log), staging.order.base) == {"out/a": "n1"}
    assert result_of(giver, "out/b") == Result(Outcome.GIVEN)


def test_who_waits_for_others_hears_that_it_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a question behind a long delivery would be taken for one that has no answer."""
    monkeypatch.setattr(job_thread, "STILL_S", 0.01)
    begun, go = threading.Event(), threading.Event()
    heard: queue.Queue[str] = queue.Queue()

    @dataclass
    class Job:
        still: Callable[[], None]

    def work(jobs: Sequence[Job]) -> None:
        begun.set()
        assert go.wait(60)

    thread = job_thread.JobThread(work, lambda: heard.put("ended"))
    thread.put(Job(lambda: None))
    assert begun.wait(60)
    thread.put(Job(lambda: heard.put("still")))
    assert heard.get(timeout=60) == "still"
    go.set()
    thread.end()
    while (last := heard.get(timeout=60)) == "still":
        pass
    assert last == "ended"


def test_names_that_were_given_are_of_the_node_that_was_last(tmp_path: Path) -> None:
    for node, name in (("n1", "a\udcff"), ("n1", "gone"), ("n2", "a\udcff"), ("n1", "b")):
        given_names.note(tmp_path, node, name)
    for name in ("a\udcff", "b"):
        (tmp_path / name).touch()
    assert given_names.read(tmp_path, str(tmp_path)) == {"a\udcff": "n2", "b": "n1"}
    given_names.forget(tmp_path, "b")
    assert given_names.read(tmp_path, str(tmp_path)) == {"a\udcff": "n2"}
    (found,) = [path for path in (tmp_path / "place.rules.given").iterdir() if b"udcff" in path.read_bytes()]
    found.write_text("{")
    with pytest.raises(StageError, match="cannot be read"):
        given_names.read(tmp_path, str(tmp_path))


def test_a_node_that_is_drained_alone_replaces_no_file_that_another_has_given(tmp_path: Path) -> None:
    scratch, target = tmp_path / "scratch", tmp_path / "target"
    for folder in (scratch, target):
        folder.mkdir()
        for name in ("a", "own"):
            (folder / name).write_text(str(folder))
    given_names.note(tmp_path, "n2", "a")
    given_names.note(tmp_path, "n1", "own")
    assert name_lists.set_aside_by_lists(str(scratch), str(target), "mirror", tmp_path, "n1") == {"a": "a.from-n1"}
