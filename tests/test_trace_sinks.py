"""The contract of outputs of `tailrace trace export`. Each name in SINKS inherits all these tests."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tailrace.cli import main
from tailrace.trace import sinks, sources
from tailrace.trace.log import LogError
from tailrace.trace.schema import EVENTS, TABLES, Tables, empty, table_of

from bench.harness.written_log import HEADER_BYTES
from tests.environment import ROOT
from tests.test_trace import Runs
from tests.trace_logs import events_of, make_run, write_log

pytestmark = pytest.mark.parametrize("sink", sinks.SINKS)

LEFT_BYTES = 64 << 10  # on the full device: every format begins to write, and none has room for 40,000 calls


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


@pytest.mark.fast
def test_a_sink_has_the_names_of_its_module(sink: str) -> None:
    module = sinks.sink_of(sink)
    assert module.SUFFIX.startswith(".")
    assert module.STORED_TABLES
    assert set(module.STORED_TABLES) <= set(TABLES)
    assert len({sinks.sink_of(name).SUFFIX for name in sinks.SINKS}) == len(sinks.SINKS)


@pytest.mark.fast
def test_a_sink_is_in_the_help_and_in_the_documents(sink: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "export", "--help"]) == 0
    assert f"{sink}:" in capsys.readouterr().out
    outputs = (ROOT / "docs/trace-tables.md").read_text().partition("## Outputs")[2]
    assert f"| `{sink}`" in outputs, "add a row to the table of outputs"


@pytest.mark.fast
def test_rows_are_written_or_reported_as_left_out(folder: Path, tmp_path: Path, sink: str) -> None:
    stored = sinks.sink_of(sink).STORED_TABLES
    rows = {"events": 7, "merged": 0, "processes": 3, "counters": 0, "results": 0}
    answer = sinks.write(sources.read(folder).parts, sink, tmp_path / "out")
    assert answer["written"] == {table: count for table, count in rows.items() if table in stored}
    assert answer["left_out"] == {table: count for table, count in rows.items() if table not in stored and count}
    written = tmp_path / "out"
    assert sum(path.stat().st_size for path in [written, *written.rglob("*")] if path.is_file()) > 0


@pytest.mark.fast
def test_a_run_without_calls_is_exported(tmp_path: Path, sink: str) -> None:
    write_log(tmp_path / "n1.1.0.trace", events_of([]), [])
    answer = sinks.write(sources.read(tmp_path).parts, sink, tmp_path / "out")
    assert answer["written"].get("processes", 1) == 1
    assert (tmp_path / "out").exists()


@pytest.mark.fast
def test_calls_of_a_thread_may_overlap(tmp_path: Path, sink: str) -> None:
    """As those of a Darshan log."""
    same: dict[str, object] = {"log": 7, "call": "write", "group": "write", "file": "/a", "bytes": 1, "result": 1}
    part = empty(events=table_of("events", [{**same, "begin_ns": begin, "end_ns": begin + 10} for begin in (0, 5, 7)]))
    assert part["events"].schema.equals(EVENTS)
    assert sinks.write([part], sink, tmp_path / "out")["written"].get("events", 3) == 3


def test_damaged_logs_end_no_export(folder: Path, tmp_path: Path, rng: random.Random, sink: str) -> None:
    whole = (folder / "n1.1.0.trace").read_bytes()
    for number in range(40):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 2, 20))):
            damaged[rng.randrange(HEADER_BYTES + 64 * 16)] = rng.randrange(256)
        (folder / f"n3.{number}.0.trace").write_bytes(damaged)
    sinks.write(sources.read(folder).parts, sink, tmp_path / "out")


@pytest.mark.fast
def test_an_existing_output_is_not_replaced(folder: Path, tmp_path: Path, sink: str) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FileExistsError, match="name another output"):
        sinks.write(sources.read(folder).parts, sink, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run"]


@pytest.mark.fast
def test_an_export_that_fails_leaves_nothing(folder: Path, tmp_path: Path, sink: str) -> None:
    def parts() -> Iterator[Tables]:
        yield from sources.read(folder).parts
        raise LogError("in the middle")

    with pytest.raises(LogError):
        sinks.write(parts(), sink, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_full_device_ends_an_export_with_its_name(
    tmp_path: Path, build_dir: Path, small_device: Path, capsys: pytest.CaptureFixture[str], sink: str
) -> None:
    runs = Runs(tmp_path, build_dir / "tests" / "trace_case")
    runs.run_case("threads", "5000")
    room = os.statvfs(small_device)
    (small_device / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize - LEFT_BYTES))
    assert main(["trace", "export", str(runs.logs), "--to", sink, "-o", str(small_device / "out")]) == 2
    assert f"{small_device / 'out'}: " in capsys.readouterr().err.replace("\n", "")
    assert [path.name for path in small_device.iterdir()] == ["filler"]
