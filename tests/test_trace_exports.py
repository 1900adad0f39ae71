"""Traces for other tools have every call. They are read back by the tools' own readers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from tailrace.trace import launch, sinks, sources
from tailrace.trace.schema import joined, table_of
from tailrace.trace.sinks.perfetto import ARGUMENTS
from tailrace.trace.sinks.timeline import begins_and_ends, valid_events

from tests.test_trace import Runs

RECORD = re.compile(r"^([A-Z_]+) +(\d+) +(\d+)  (.*)$")
Slice = dict[str, Any]


@pytest.fixture
def recorded(tmp_path: Path, build_dir: Path) -> Path:
    """A run of a program with eight threads, and of one that makes calls of all kinds."""
    runs = Runs(tmp_path, build_dir / "tests" / "trace_case")
    runs.run_case("threads", "50")
    runs.run_case("calls")
    return runs.logs


def events_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = joined(list(sources.read(path).parts))["events"].to_pylist()
    return rows


def slices_of(path: Path) -> list[Slice]:
    """The slices as Perfetto's viewer reads them: the last one that began on a track ends first."""
    trace = proto.Trace.FromString(path.read_bytes())
    names: dict[tuple[str, int], str] = {}
    tracks: dict[int, list[Slice]] = {}
    ended = []
    for packet in trace.packet:
        for field, entries in packet.interned_data.ListFields():
            for entry in entries:
                names[field.name, entry.iid] = entry.str.decode() if field.name.endswith("values") else entry.name
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = []
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        open_slices = tracks[event.track_uuid]
        if event.type == event.TYPE_SLICE_BEGIN:
            arguments = {names["debug_annotation_names", each.name_iid]: value_of(each, names) for each in event.debug_annotations}
            call, group = names["event_names", event.name_iid], names["event_categories", event.category_iids[0]]
            open_slices.append({"call": call, "group": group, "begin_ns": packet.timestamp, **arguments})
        else:
            ended.append({**open_slices.pop(), "end_ns": packet.timestamp, "track": event.track_uuid})
    assert not any(tracks.values())
    return ended


def value_of(argument: Any, names: dict[tuple[str, int], str]) -> Any:
    kind = argument.WhichOneof("value")
    value = getattr(argument, kind)
    return names["debug_annotation_string_values", value] if kind == "string_value_iid" else value


def test_perfetto_has_every_call_with_all_columns(recorded: Path, tmp_path: Path) -> None:
    sinks.write(sources.read(recorded).parts, "perfetto", tmp_path / "out.pftrace")
    found = slices_of(tmp_path / "out.pftrace")
    keys = ("call", "group", "begin_ns", "end_ns", *ARGUMENTS)
    expected = [{key: row[key] for key in keys if row[key] is not None} for row in events_of(recorded)]

    def order(row: Slice) -> str:
        return repr(sorted(row.items()))

    assert sorted(({k: v for k, v in row.items() if k != "track"} for row in found), key=order) == sorted(expected, key=order)
    assert len({row["track"] for row in found}) == len({(row["log"], row["thread"]) for row in events_of(recorded)})


def test_perfetto_names_processes_and_threads(recorded: Path, tmp_path: Path) -> None:
    sinks.write(sources.read(recorded).parts, "perfetto", tmp_path / "out.pftrace")
    trace = proto.Trace.FromString((tmp_path / "out.pftrace").read_bytes())
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")
    }
    parents = [track for track in tracks.values() if not track.parent_uuid]
    assert len(parents) == 2
    assert all("trace_case" in track.name for track in parents)
    assert all(track.parent_uuid in tracks and track.name.startswith("thread ") for track in tracks.values() if track.parent_uuid)
    (clock,) = (packet.clock_snapshot for packet in trace.packet if packet.HasField("clock_snapshot"))
    assert clock.clocks[1].timestamp > 1.7e18


def test_otf2_print_accepts_every_call_with_its_bytes(recorded: Path, tmp_path: Path, needs: Any) -> None:
    needs("otf2-print")
    sinks.write(sources.read(recorded).parts, "otf2", tmp_path / "out.otf2")
    printed = subprocess.run(
        ["otf2-print", tmp_path / "out.otf2" / "traces.otf2"], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stderr == ""
    records = [match.groups() for line in printed.stdout.splitlines() if (match := RECORD.match(line))]
    rows = events_of(recorded)
    calls = Counter((row["call"], row["begin_ns"]) for row in rows)
    assert Counter((text_in(more), int(time)) for kind, _, time, more in records if kind == "ENTER") == calls
    ends = Counter((row["call"], row["end_ns"]) for row in rows)
    assert Counter((text_in(more), int(time)) for kind, _, time, more in records if kind == "LEAVE") == ends
    moves = [row for row in rows if row["group"] in ("read", "write", "stdio_read", "stdio_write", "sync")]
    asked = Counter((row["begin_ns"], row["bytes"]) for row in moves)
    assert (
        Counter((int(time), number_in("Bytes Request", more)) for kind, _, time, more in records if kind == "IO_OPERATION_BEGIN")
        == asked
    )
    moved = Counter((row["end_ns"], max(0, row["result"])) for row in moves)
    found = Counter(
        (int(time), number_in("Bytes Result", more)) for kind, _, time, more in records if kind == "IO_OPERATION_COMPLETE"
    )
    assert found == moved
    opened = [row for row in rows if row["call"] in ("open", "fopen") and row["error"] is None]
    assert sum(kind == "IO_CREATE_HANDLE" for kind, *_ in records) == len(opened)
    closed = [row for row in rows if row["group"] == "close"]
    assert sum(kind == "IO_DESTROY_HANDLE" for kind, *_ in records) == len(closed)
    assert sum(kind == "IO_DUPLICATE_HANDLE" for kind, *_ in records) == 1
    assert "ENOENT" in printed.stdout


MANY_WRITES = """
import os, sys
file = os.open(sys.argv[1] + "/many", os.O_RDWR | os.O_CREAT)
for number in range(20000):
    os.pwrite(file, b"12345678", number % 100 * 8)
"""


@pytest.fixture
def merged_run(tmp_path: Path) -> Path:
    """A run whose budget is too small for an event of each of its 20,000 writes."""
    logs = tmp_path / "logs"
    logs.mkdir()
    environment = launch.traced_environment(logs, 1 << 20)
    subprocess.run([sys.executable, "-c", MANY_WRITES, str(tmp_path)], env=environment, check=True, timeout=60)
    return logs


def test_perfetto_has_merged_calls_as_slices_with_their_sums(merged_run: Path, tmp_path: Path) -> None:
    answer = sinks.write(sources.read(merged_run).parts, "perfetto", tmp_path / "out.pftrace")
    slices = slices_of(tmp_path / "out.pftrace")
    merged = [each for each in slices if each["call"].endswith("merged calls of pwrite")]
    assert merged
    assert answer["written"]["merged"] >= len(merged)
    assert sum(each["calls"] for each in merged) + sum(each["call"] == "pwrite" for each in slices) == 20000
    assert all(each["call"] == f"{each['calls']} merged calls of pwrite" for each in merged)
    assert all(each["moved"] == 8 * each["calls"] and each["file"].endswith("/many") for each in merged)
    assert {each["track"] for each in merged}.isdisjoint(each["track"] for each in slices if "merged calls" not in each["call"])


def test_otf2_has_merged_calls_as_regions_with_their_sums(merged_run: Path, tmp_path: Path, needs: Any) -> None:
    needs("otf2-print")
    sinks.write(sources.read(merged_run).parts, "otf2", tmp_path / "out.otf2")
    command = ["otf2-print", str(tmp_path / "out.otf2" / "traces.otf2")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert printed.stderr == ""
    entered = [match[4] for line in printed.stdout.splitlines() if (match := RECORD.match(line)) and match[1] == "ENTER"]
    merged = joined(list(sources.read(merged_run).parts))["merged"].to_pylist()
    regions = Counter(text_in(more) for more in entered)
    assert regions["merged calls of pwrite"] == sum(row["call"] == "pwrite" for row in merged) > 0
    stored = [int(number) for number in re.findall(r'"calls" <\d+>; UINT64; (\d+)', printed.stdout)]
    assert sorted(stored) == sorted(row["calls"] for row in merged)


def text_in(more: str) -> str:
    return more.split('"')[1]


def number_in(name: str, more: str) -> int:
    return int(re.findall(rf"{name}: (\d+)", more)[0])


def test_otf2_definitions_name_files_and_processes(recorded: Path, tmp_path: Path, needs: Any) -> None:
    needs("otf2-print")
    sinks.write(sources.read(recorded).parts, "otf2", tmp_path / "out.otf2")
    anchor = tmp_path / "out.otf2" / "traces.otf2"
    printed = subprocess.run(["otf2-print", "-G", anchor], capture_output=True, text=True, check=True, timeout=60).stdout
    files = {row["file"] for row in events_of(recorded) if row["group"] in ("read", "write", "open") and row["error"] is None}
    assert all(f'"{file}"' in printed for file in files)
    assert printed.count("LOCATION_GROUP  ") == 2
    assert printed.count("\nLOCATION  ") == len({(row["log"], row["thread"]) for row in events_of(recorded)})


def calls_at(*spans: tuple[int, int]) -> list[tuple[int, int, bool]]:
    rows: list[dict[str, object]] = [{"log": 0, "thread": 1, "begin_ns": begin, "end_ns": end} for begin, end in spans]
    return [(place.lane, row, begins) for place, row, begins in begins_and_ends(valid_events(table_of("events", rows)))]


def test_nested_calls_begin_and_end_like_brackets() -> None:
    assert calls_at((0, 10), (2, 4), (4, 4), (4, 8), (10, 12)) == [
        (0, 0, True),
        (0, 1, True),
        (0, 1, False),
        (0, 3, True),
        (0, 2, True),
        (0, 2, False),
        (0, 3, False),
        (0, 0, False),
        (0, 4, True),
        (0, 4, False),
    ]


def test_overlapping_calls_have_a_further_timeline() -> None:
    assert calls_at((0, 10), (5, 15)) == [(0, 0, True), (1, 1, True), (0, 0, False), (1, 1, False)]


def test_calls_with_impossible_times_are_left_out() -> None:
    assert calls_at((-5, 10), (8, 2)) == []
