"""Logs of Darshan become the tables of a run."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

import pytest
from tailrace.trace import sources
from tailrace.trace.log import LogError
from tailrace.trace.schema import Tables, joined


@pytest.fixture(scope="module")
def darshan_logs() -> Path:
    """The logs in the package, which are for its own tests."""
    return Path(str(importlib.resources.files("darshan"))) / "tests" / "input"


def all_of(path: Path) -> Tables:
    return joined(list(sources.read(path).parts))


def test_segments_of_darshan_become_events(darshan_logs: Path) -> None:
    tables = all_of(darshan_logs / "sample-dxt-simple.darshan")
    rows = tables["events"].to_pylist()
    assert [(row["call"], row["group"], row["offset"], row["result"]) for row in rows] == [
        ("write", "write", 0, 40),
        ("MPI_File_write", "mpiio", 0, 4000),
        ("write", "write", 0, 4000),
    ]
    assert rows[0]["begin_ns"] == pytest.approx(103_378_843, abs=1)
    assert rows[0]["end_ns"] == pytest.approx(103_387_713, abs=1)
    assert {(row["rank"], row["host"]) for row in rows} == {(0, "sn176.localdomain")}
    assert rows[2]["file"].endswith("/test.out")
    assert len(tables["processes"]) == 16
    assert tables["processes"]["ranks"].to_pylist() == [16] * 16


def test_counters_of_darshan_become_counters(darshan_logs: Path) -> None:
    rows = all_of(darshan_logs / "sample.darshan")["counters"].to_pylist()
    shared = next(row for row in rows if row["interface"] == "POSIX" and row["file"].endswith("vpicio.hdf5"))
    assert (shared["rank"], shared["reads"], shared["writes"], shared["bytes_written"]) == (None, 0, 16402, 2199023259968)
    assert shared["calls"] == 16402 + 2049 + 16404
    assert {row["interface"] for row in rows} == {"POSIX", "MPI-IO", "STDIO"}


def test_counted_and_traced_bytes_of_darshan_agree(darshan_logs: Path) -> None:
    tables = all_of(darshan_logs / "sample-dxt-simple.darshan")
    counted = sum(row["bytes_written"] for row in tables["counters"].to_pylist() if row["interface"] == "POSIX")
    traced = sum(row["result"] for row in tables["events"].to_pylist() if row["group"] == "write")
    assert counted == traced == 4040


@pytest.mark.parametrize("bytes_left", [100, 500, 3000, 9000, -1])
def test_a_cut_darshan_log_is_refused(darshan_logs: Path, tmp_path: Path, bytes_left: int) -> None:
    path = tmp_path / "x.darshan"
    path.write_bytes((darshan_logs / "sample.darshan").read_bytes()[:bytes_left])
    with pytest.raises(LogError, match=r"x\.darshan: no log of Darshan, or a damaged one \(.*(read|header)"):
        sources.read(path)


def test_a_text_file_is_refused_as_a_darshan_log(tmp_path: Path) -> None:
    path = tmp_path / "x.darshan"
    path.write_bytes(b"no log " * 100)
    with pytest.raises(LogError, match=r"x\.darshan: no log of Darshan, or a damaged one"):
        sources.read(path)
