"""Formats grow: files of a "next version" are read, and what it made is not written to. The journal has tests of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
from tailrace.results.runs import RunResult
from tailrace.study.folder import RESULTS, OtherVersionError, Study, begin_journal, open_study
from tailrace.study.spec import load_study
from tailrace.trace.log import CHUNK, EVENT, HEADER, LogError, read_header, read_log

from bench.harness.written_log import CHUNK_BYTES, HEADER_BYTES
from tests.environment import ROOT
from tests.trace_logs import OLD, ROWS, events_of, header_of, write_log

pytestmark = pytest.mark.fast

RECORD = ROOT / "tests" / "records" / "study"

# ---- parts and indexes -----------------------------------------------------------------------------------------------------------


def written(folder: Path, **keys: Any) -> None:
    with tailrace.open(folder, "history", **keys) as stream:
        stream.dim("x", 4)
        stream.var("T", ("x",), "f8")
        stream.coord("lat", np.arange(2.0))
        for time in range(2):
            with stream.step(time) as step:
                step.put("T", np.arange(4.0) + time, offset=(0,))


def add_attributes(path: Path) -> None:
    """Those of files and arrays that a later version may add, of several types."""
    with h5py.File(path, "r+") as file:
        file.attrs["tailrace_epoch"] = np.arange(3, dtype="u8")
        file.attrs["tailrace_more"] = "text"
        for dataset in file.values():
            dataset.attrs["tailrace_kind"] = np.float32(1)


@pytest.mark.parametrize("keys", [{"layout": "fpp"}, {"layout": "split:2"}, {"layout": "single", "steps": "all"}], ids=str)
def test_unknown_attributes_of_parts(tmp_path: Path, keys: dict[str, Any]) -> None:
    written(tmp_path, **keys)
    dataset = tmp_path / "history.nc"
    for path in [*(tmp_path / "history.parts").rglob("*.nc"), *([dataset] if "steps" in keys else [])]:
        add_attributes(path)
    with tailrace.open_read(tmp_path, "history") as reader:
        for step in range(2):
            reader.select(step)
            np.testing.assert_array_equal(reader.get("T"), np.arange(4.0) + step)
    with netCDF4.Dataset(dataset) as file:
        np.testing.assert_array_equal(file["T"][:], [np.arange(4.0), np.arange(4.0) + 1])
    tailrace.combine(tmp_path, "history", tmp_path / "one.nc")
    with netCDF4.Dataset(tmp_path / "one.nc") as file:
        np.testing.assert_array_equal(file["T"][1], np.arange(4.0) + 1)


def test_unknown_attributes_of_an_index(tmp_path: Path) -> None:
    """It is still known as an index: the next run replaces it."""
    written(tmp_path, layout="fpp")
    add_attributes(tmp_path / "history.nc")
    [described] = tailrace.list_streams(tmp_path)
    assert described["index"] == [str(tmp_path / "history.nc")]
    assert tailrace.verify(tmp_path, "history", deep=True)["ok"]
    written(tmp_path, layout="fpp", mode="replace")
    with h5py.File(tmp_path / "history.nc") as file:
        assert "tailrace_epoch" not in file.attrs


def test_seals_of_a_later_version_are_not_read(tmp_path: Path) -> None:
    """Their bytes may lie elsewhere. The data is read as ever."""
    written(tmp_path, layout="fpp")
    for path in (tmp_path / "history.parts").rglob("*.nc"):
        with h5py.File(path, "r+") as file:
            seals = file.attrs["tailrace_seals"]
            seals[0] = 2
            file.attrs.modify("tailrace_seals", seals)
    [problem, *_] = tailrace.verify(tmp_path, "history", deep=True)["problems"]
    assert "has seals of version 2, not 1; use a newer Tailrace" in problem["problem"]
    with tailrace.open_read(tmp_path, "history") as reader:
        np.testing.assert_array_equal(reader.get("T"), np.arange(4.0) + 1)


# ---- logs of calls ---------------------------------------------------------------------------------------------------------------


def test_more_words_in_the_list_of_calls(tmp_path: Path) -> None:
    write_log(tmp_path / "a.trace", events_of(ROWS[:2]), [OLD])
    known = read_log(tmp_path / "a.trace")
    text = "".join(f"{call.name} {call.number} {call.group} since=2\n" for call in known.calls.values()).encode()
    write_log(tmp_path / "b.trace", events_of(ROWS[:2]), [OLD], calls=text)
    newer = read_log(tmp_path / "b.trace")
    assert newer.calls == known.calls
    np.testing.assert_array_equal(newer.events, known.events)


def test_calls_that_are_not_listed(tmp_path: Path) -> None:
    events = events_of(ROWS[:3])
    events["call"][1] = 60000
    write_log(tmp_path / "a.trace", events, [OLD])
    assert len(read_log(tmp_path / "a.trace").events) == 2


def test_unknown_kind_of_chunk(tmp_path: Path) -> None:
    write_log(tmp_path / "a.trace", events_of(ROWS[:2]), [OLD])
    chunk = np.zeros(CHUNK_BYTES // EVENT.itemsize, EVENT)
    chunk["call"] = ROWS and events_of(ROWS[:1])["call"][0]
    chunk["call"][0] = CHUNK
    chunk.view(np.uint16).reshape(-1, 32)[0, 9] = 7  # kind
    with (tmp_path / "a.trace").open("ab") as file:
        file.write(chunk.tobytes())
    assert len(read_log(tmp_path / "a.trace").events) == 2


def test_a_longer_header(tmp_path: Path) -> None:
    write_log(tmp_path / "a.trace", events_of(ROWS[:2]), [OLD])
    content = (tmp_path / "a.trace").read_bytes()
    header = header_of(header_bytes=2 * HEADER_BYTES).tobytes()
    longer = header + b"\x01" * (2 * HEADER_BYTES - HEADER.itemsize) + content[HEADER_BYTES:]
    (tmp_path / "b.trace").write_bytes(longer)
    np.testing.assert_array_equal(read_log(tmp_path / "b.trace").events, read_log(tmp_path / "a.trace").events)


def test_a_log_of_a_later_version(tmp_path: Path) -> None:
    write_log(tmp_path / "a.trace", events_of(ROWS[:2]), [OLD], version=2)
    for read in (read_log, read_header):
        with pytest.raises(LogError, match=r"version 2, this reader knows up to 1: read it with a newer Tailrace"):
            read(tmp_path / "a.trace")


# ---- results of a study ----------------------------------------------------------------------------------------------------------


def copy_study(folder: Path, left: int, **head: Any) -> None:
    """The record with unknown keys in each kind of line and an unknown kind of line, without the last runs."""
    lines, _ = tailrace.journal_read(RECORD / RESULTS)
    lines = [{key: value for key, value in line.items() if key != "sum"} for line in lines[: len(lines) - left]]
    for number, line in enumerate(lines):
        if line["kind"] == "run":
            phases = [{**phase, "joule": 1.5} for phase in line["phases"]]
            line = {**line, "power": {"joule": 12.5}, "phases": phases}
        else:
            line = {**line, **head, "site": "here"}
        tailrace.journal_append(folder / RESULTS, line)
        if number == 3:
            tailrace.journal_append(folder / RESULTS, {"kind": "weather", "degC": 20})


def test_unknown_keys_and_kinds_of_a_study(tmp_path: Path) -> None:
    copy_study(tmp_path, 0)
    study = open_study(load_study(RECORD / "small.toml"), tmp_path)
    lines, _ = tailrace.journal_read(RECORD / RESULTS)
    assert study.results == [RunResult.from_json(line) for line in lines[1:]]


def test_a_study_of_a_later_format(tmp_path: Path) -> None:
    """It is reported, and not continued."""
    copy_study(tmp_path, 0, format=2)
    assert len(open_study(load_study(RECORD / "small.toml"), tmp_path).results) == 48
    (tmp_path / "unfinished").mkdir()
    copy_study(tmp_path / "unfinished", 8, format=2)
    with pytest.raises(OtherVersionError, match=r"is of format 2, and this version writes format 1: .*newer Tailrace"):
        open_study(load_study(RECORD / "small.toml"), tmp_path / "unfinished")


def test_the_format_of_a_new_study_is_written(tmp_path: Path) -> None:
    study = Study(load_study(RECORD / "small.toml"), tmp_path)
    begin_journal(study)
    assert json.loads((tmp_path / RESULTS).read_text().splitlines()[0])["format"] == 1
