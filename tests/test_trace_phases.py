"""Phases of logs that are written here: their times, and messages about what cannot be compared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tailrace.cli import main
from tailrace.study.run import phases_of_trace
from tailrace.study.values import StudyError
from tailrace.trace.log import read_run
from tailrace.trace.phases import Phase, Phases, phases_of

from tests.trace_logs import events_of, write_log

pytestmark = pytest.mark.fast

S = 10**9
ALL, TURNED = b"MPI ranks 0-1", b"MPI ranks 1,0"
SITE = b"/a.out+0x10"
INIT: tuple[str, int, int] = ("MPI_Init", 0, 1)
Call = tuple[str, int, int] | tuple[str, int, int, bytes]


def write_run(folder: Path, *ranks: Sequence[Call], **header: Any) -> Path:
    """Calls of each rank, from one second to another, with the name of a phase or a group of ranks."""
    folder.mkdir(exist_ok=True)
    for rank, calls in enumerate(ranks):
        rows = [{"call": call, "begin_ns": begin * S, "end_ns": end * S, "result": 0} for call, begin, end, *_ in calls]
        names = [name for _, _, _, *more in calls for name in more]
        for row, (_, _, _, *more) in zip(rows, calls, strict=True):
            row |= {"file": more[0], "detail": SITE} if more else {}
        about = {"rank": rank, "ranks": len(ranks), "process": rank + 1, "begin_ns": 0, "begin_real_ns": 1} | header
        write_log(folder / f"n1.{rank}.0.trace", events_of(rows), [*names, SITE], **about)
    return folder


def found_in(folder: Path) -> Phases:
    return phases_of(read_run(folder)[0])


def phase_of(found: Phases, name: str) -> Phase:
    (phase,) = [phase for phase in found.phases if phase.name == name]
    return phase


def barrier(begin: int, end: int, group: bytes = ALL) -> Call:
    return ("MPI_Barrier", begin, end, group)


def phase(begin: int, end: int, name: bytes, *within: Call) -> list[Call]:
    return [("phase_begin", begin, begin, name), *within, ("phase_end", end, end)]


def test_an_interrupted_phase_waits_only_in_its_last_collective_for_its_end(tmp_path: Path) -> None:
    """Rank 1 is late for the first collective by 4 s and rank 0 for the last by 1 s: no rank is done before 10 s are over."""
    first = phase(2, 15, b"outer", barrier(3, 7), *phase(8, 11, b"inner"), barrier(14, 14))
    second = phase(2, 15, b"outer", barrier(7, 7), *phase(8, 11, b"inner"), barrier(13, 14))
    found = found_in(write_run(tmp_path / "run", [INIT, *first], [INIT, *second]))
    outer = phase_of(found, "outer")
    assert (outer.seconds, outer.most_s, outer.sync_s) == (10.0, 10.0, 5.0)
    assert outer.critical_s == pytest.approx(10.0)
    assert phase_of(found, "inner").critical_s == pytest.approx(3.0)


def test_groups_of_all_ranks_in_another_order_are_one_sequence(tmp_path: Path) -> None:
    calls = [INIT, barrier(3, 4), barrier(6, 7, TURNED), barrier(9, 10), barrier(12, 13, TURNED)]
    found = found_in(write_run(tmp_path / "run", calls, calls))
    assert not found.unmatched
    assert [(phase.name, phase.times, phase.seconds) for phase in found.phases] == [
        ("to MPI_Init", 1, 1.0),
        ("from MPI_Init to a.out+0x10", 1, 3.0),
        ("from a.out+0x10 to a.out+0x10", 3, 9.0),
        ("to the end", 1, 0.0),
    ]
    assert sum(phase.seconds for phase in found.phases) == pytest.approx(13.0)


def test_io_before_a_collective_counts_from_the_last_collective_of_all_ranks(tmp_path: Path) -> None:
    """Rank 1 has read for 2 s before the first barrier, and is late at the second for another reason."""
    first = [INIT, barrier(3, 4), barrier(5, 10, TURNED)]
    second: list[Call] = [INIT, ("read", 1, 3), barrier(3, 4), barrier(9, 10, TURNED)]
    found = found_in(write_run(tmp_path / "run", first, second))
    assert sum(phase.sync_s for phase in found.phases) == pytest.approx(4.0)
    assert sum(phase.late_by_io_s for phase in found.phases) == 0


def test_a_spent_budget_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [INIT, *phase(2, 4, b"9write", barrier(3, 4))]
    folder = write_run(tmp_path / "run", calls, calls, dropped_events=77)
    assert main(["trace", "phases", str(folder), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert [text.partition(":")[0] for text in answer["unmatched"]] == ["rank 0", "rank 1"]
    assert main(["trace", "phases", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert "not compared: rank 1: 77 calls" in shown
    assert "--budget" in shown
    with pytest.raises(StudyError, match=r"rank 0: 77 calls.*--budget"):
        phases_of_trace(folder)
    write_run(folder, calls, calls)
    assert main(["trace", "phases", str(folder)]) == 0
    assert [made.name for made in phases_of_trace(folder)] == ["9write"]


def test_names_that_are_not_utf8_can_be_printed(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    calls = [INIT, *phase(2, 4, b"write \xff\xe9", barrier(3, 4))]
    folder = write_run(tmp_path / "run", calls, calls)
    assert main(["trace", "phases", str(folder)]) == 0
    assert rb"write \xff\xe9" in capsysbinary.readouterr().out
    assert json.loads(json.dumps(phases_of_trace(folder)[0].name)).encode() == rb"write \xff\xe9"


def test_ranks_of_several_jobs_are_reported(tmp_path: Path) -> None:
    calls = [INIT, barrier(2, 3)]
    write_run(tmp_path / "one", calls, calls)
    assert found_in(tmp_path / "one").unmatched == []
    write_run(tmp_path / "two", calls, calls)
    for rank in (0, 1):
        (tmp_path / "two" / f"n1.{rank}.0.trace").rename(tmp_path / "two" / f"n1.{rank + 9}.0.trace")
    write_run(tmp_path / "two", calls, calls)
    assert [text.split(",")[0] for text in found_in(tmp_path / "two").unmatched] == [
        f"rank {rank}: 2 programs called MPI" for rank in (0, 1)
    ]


@pytest.mark.parametrize("command", [["coverage"], ["trace", "phases"]])
def test_a_missing_folder_is_an_error(tmp_path: Path, tailrace_command: list[str], command: list[str]) -> None:
    (tmp_path / "file").touch()
    for name, told in (("absent", "no such folder"), ("file", "not a folder")):
        done = subprocess.run(
            [*tailrace_command, *command, tmp_path / name], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 2
        assert told in " ".join(done.stderr.split())
