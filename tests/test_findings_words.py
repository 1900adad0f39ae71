"""What findings say: which files and directories they name, which remedy they give, and which seconds they count once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tailrace.findings import Verdict, verdict_of
from tailrace.findings.estimates import parts_done_again, repeated
from tailrace.findings.rules import missing_files, reopening, small_writes, start_up, unlink_storm
from tailrace.findings.rules.shared_file import _meets_others
from tailrace.findings.wording import headline
from tailrace.trace.activity import Activity
from tailrace.trace.model import calls_of

from tests.trace_logs import events_of, write_log

pytestmark = pytest.mark.fast

EACH_NS = 1_000_000
ENOENT = -2
WITHIN_HDF5 = 2


def activity_of(folder: Path, rows: Sequence[dict[str, Any]]) -> Activity:
    """A run of one process that makes these calls one after the other, each in a millisecond, where they have no times."""
    made = []
    for number, row in enumerate(rows):
        begin = 1000 + number * EACH_NS
        made.append({"begin_ns": begin, "end_ns": begin + EACH_NS, **row})
    names = sorted({row["file"] for row in made})
    end = max(row["end_ns"] for row in made)
    folder.mkdir(exist_ok=True)
    write_log(folder / "n1.1.0.trace", events_of(made), names, begin_ns=1000, end_ns=end, end_real_ns=end + 5000)
    return calls_of(folder)


def verdict(folder: Path, rows: Sequence[dict[str, Any]]) -> Verdict:
    return verdict_of(activity_of(folder, rows))


def finding_of(found: Verdict, rule: Any) -> Any:
    (finding,) = (each for each in found.findings if each.rule == rule.NAME)
    return finding


def looks(names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"call": "stat", "file": name.encode(), "result": ENOENT} for name in names]


def test_a_search_path_is_told_from_questions_before_making(tmp_path: Path) -> None:
    search = looks([f"/data/{folder}/lib{number}.so" for number in range(60) for folder in "abcd"])
    found = finding_of(verdict(tmp_path / "search", search), missing_files)
    assert "240 calls look for 240 names" in found.what
    assert "in 4 directories below /data" in found.what
    assert "search path" in found.remedy
    once = looks([f"/data/objects/{number}" for number in range(300)])
    found = finding_of(verdict(tmp_path / "once", once), missing_files)
    assert found.what.endswith("in /data/objects")
    assert "O_EXCL" in found.remedy
    again = looks([f"/data/flag{number % 3}" for number in range(300)])
    assert "remember" in finding_of(verdict(tmp_path / "again", again), missing_files).remedy


def test_most_of_them_below_a_directory(tmp_path: Path) -> None:
    names = [f"/data/run/{number % 64}/{number}" for number in range(300)] + [f"/other/{number}" for number in range(20)]
    found = finding_of(verdict(tmp_path / "run", looks(names)), missing_files)
    assert found.what.endswith("most of them in 64 directories below /data/run")


def test_one_file_that_is_removed_again_and_again(tmp_path: Path) -> None:
    rows = [{"call": "unlink", "file": b"/data/x.db-journal"} for _ in range(300)]
    found = finding_of(verdict(tmp_path / "same", rows), unlink_storm)
    assert found.what == "300 removals remove one file again and again: /data/x.db-journal"
    assert any("SQLite" in line for line in found.lines)
    rows = [{"call": "unlink", "file": f"/data/step{number}".encode()} for number in range(300)]
    found = finding_of(verdict(tmp_path / "different", rows), unlink_storm)
    assert found.what == "300 files are removed, in /data"
    assert not any("SQLite" in line for line in found.lines)


def small(flags: int) -> list[dict[str, Any]]:
    return [
        {"call": "pwrite", "file": b"/data/step0017", "offset": 100 * n, "bytes": 100, "result": 100, "flags": flags}
        for n in range(1200)
    ]


def test_small_writes_of_hdf5_are_not_mended_by_a_buffer_of_the_program(tmp_path: Path) -> None:
    found = finding_of(verdict(tmp_path / "own", small(0)), small_writes)
    assert "1 200 calls write 100 B each" in found.what
    assert any("setvbuf" in line for line in found.lines)
    flush = {"call": "H5Fflush", "file": b"/data/step0017", "begin_ns": 1000, "end_ns": 1000 + 2000 * EACH_NS}
    found = finding_of(verdict(tmp_path / "hdf5", [flush, *small(WITHIN_HDF5)]), small_writes)
    assert "1 200 calls of HDF5 write 100 B each" in found.what
    assert not any("setvbuf" in line for line in found.lines)
    assert any("chunks" in line for line in found.lines)


def test_files_whose_names_differ_in_numbers_are_one(tmp_path: Path) -> None:
    rows = [{**row, "file": f"/data/out.{number % 2}.nc".encode()} for number, row in enumerate(small(0) + small(0))]
    assert finding_of(verdict(tmp_path / "run", rows), small_writes).what.endswith("most in /data/out.N.nc (2 files)")


def test_seconds_of_a_flush_and_of_its_writes_count_once(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for number in range(400):
        begin = 1000 + number * 10 * EACH_NS
        rows.append({"call": "H5Fflush", "file": b"/data/a.h5", "begin_ns": begin, "end_ns": begin + 8 * EACH_NS})
        for part in range(3):
            at = begin + (1 + part) * EACH_NS
            write = {"call": "pwrite", "file": b"/data/a.h5", "offset": 100 * part, "bytes": 100, "result": 100}
            rows.append({**write, "flags": WITHIN_HDF5, "begin_ns": at, "end_ns": at + EACH_NS})
    found = verdict(tmp_path / "run", rows)
    seconds = {each.rule: each.seconds for each in found.findings}
    assert seconds["flush"] == pytest.approx(3.2)
    assert 1.1 < seconds["rewritten_files"] <= 1.2
    assert found.found_s == pytest.approx(3.2)
    overlaps = {each.rule: set(each.overlaps) for each in found.findings}
    assert overlaps["flush"] == {"rewritten_files", "small_writes"}


def test_installed_files_that_a_program_packs_are_no_start(tmp_path: Path) -> None:
    modules = [{"call": "open", "file": f"/usr/lib/python3/m{number}.py".encode(), "result": 3} for number in range(400)]
    write = {"call": "pwrite", "file": b"/data/out.tar", "offset": 0, "bytes": 9, "result": 9}
    found = finding_of(verdict(tmp_path / "start", [*modules, write]), start_up)
    assert "400 calls on 400 files" in found.what
    assert not [each for each in verdict(tmp_path / "packed", [write, *modules]).findings if each.rule == start_up.NAME]


def opened_again(between: Sequence[str], **of_seek: Any) -> list[dict[str, Any]]:
    """A file is opened, asked about, written and closed 30 times, each call in a millisecond."""
    rows: list[dict[str, Any]] = []
    for number in range(30):
        calls = ["open", *between, "pwrite", "lseek", "fstat", "close"]
        made = [{"call": name, "file": b"/data/log.txt", "result": 0} for name in calls]
        made[-4] |= {"offset": 100 * number, "bytes": 100, "result": 100}
        for row in made:
            if row["call"] == "lseek" and of_seek:
                row |= of_seek
        rows += made
    return rows


def test_questions_after_each_opening_are_part_of_its_price(tmp_path: Path) -> None:
    """Those after the first write are not, nor those after the first opening, nor a seek to a byte that the program chooses."""
    asked = finding_of(verdict(tmp_path / "asked", opened_again(["fstat", "lseek"])), reopening)
    assert asked.seconds == pytest.approx((30 * 4 - 3) / 1000)
    assert "size and position" in asked.how
    assert asked.calls == 29 * 4 + 1
    plain = finding_of(verdict(tmp_path / "plain", opened_again([])), reopening)
    assert plain.seconds == pytest.approx((30 * 2 - 1) / 1000)
    assert "size and position" not in plain.how
    chosen = finding_of(verdict(tmp_path / "chosen", opened_again(["lseek"], detail=0, offset=4096)), reopening)
    assert chosen.seconds == pytest.approx(plain.seconds)
    end = finding_of(verdict(tmp_path / "end", opened_again(["lseek"], detail=2, offset=0)), reopening)
    assert end.seconds == pytest.approx((30 * 3 - 2) / 1000)


def test_the_verdict_begins_with_seconds_and_then_has_the_share(tmp_path: Path) -> None:
    text = headline(verdict(tmp_path / "again", opened_again([])))
    assert re.fullmatch(r"I/O took 150 ms \(100 %\) of 150 ms; \S+ ms of it because \D.*", text), text
    nothing = Verdict(16.3, 0.37, (), 0.0, 0, 1, 0)
    assert headline(nothing) == "I/O took 370 ms (2 %) of 16.3 s; no cause of it costs 1 % of the run"


def drawn(rng: Any, count: int) -> Any:
    """Transfers of three processes on three files, as an Activity has them."""
    draw = np.random.default_rng(rng.randrange(1 << 30))
    begin = draw.integers(0, 30, count) / 7
    return SimpleNamespace(
        file=draw.integers(0, 3, count),
        process=draw.integers(0, 3, count),
        processes=[None] * 3,
        begin=begin,
        end=begin + draw.integers(1, 9, count) / 7,
        offset=draw.integers(0, 5, count) * 100,
        result=draw.choice([50, 100, 150], count),
    )


def test_bytes_and_meetings_of_many_files_at_once(rng: Any) -> None:
    """The same as file by file."""
    for count in range(1, 60):
        calls = drawn(rng, count)
        again, meets = np.zeros(count), np.zeros(count, bool)
        for file in np.unique(calls.file):
            rows = np.flatnonzero(calls.file == file)
            rows = rows[np.argsort(calls.begin[rows], kind="stable")]
            again[rows] = repeated(calls.offset[rows], calls.offset[rows] + calls.result[rows])
            for row in rows:
                others = rows[calls.process[rows] != calls.process[row]]
                meets[row] = ((calls.begin[others] < calls.end[row]) & (calls.end[others] > calls.begin[row])).any()
        np.testing.assert_allclose(parts_done_again(calls, np.arange(count), calls.file), again)
        np.testing.assert_array_equal(_meets_others(calls, np.arange(count)), meets)
