"""Totals are exact whatever the budget: calls are events, merged into records of like calls, or counted by file and call."""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import time
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
from tailrace.trace import launch
from tailrace.trace.coverage import coverage_of
from tailrace.trace.log import Log, read_run
from tailrace.trace.merged import BINS, MERGED, MERGED_SLOTS, RECORD, histogram_text, records_of
from tailrace.trace.model import Run
from tailrace.trace.tables import tables_of

from tests.environment import HANGS_S

MIB = 1 << 20


class Runs:
    """Runs programs with the tracer and a small budget, in a new folder."""

    def __init__(self, tmp_path: Path, programs: Path) -> None:
        self.case, self.budget_case = str(programs / "trace_case"), str(programs / "budget_case")
        self.work, self.logs = tmp_path / "work", tmp_path / "logs"
        self.work.mkdir()
        self.logs.mkdir()

    def run_case(self, what: str, number: int, budget: int = MIB) -> Log:
        return self.run(self.case, what, number, budget)

    def run_budget_case(self, what: str, number: int) -> Log:
        return self.run(self.budget_case, what, number, MIB)

    def run(self, program: str, what: str, number: int, budget: int) -> Log:
        command = [program, what, str(self.work), str(number)]
        subprocess.run(command, env=launch.traced_environment(self.logs, budget), check=True, timeout=HANGS_S)
        return self.read()

    def read(self) -> Log:
        logs, damaged = read_run(self.logs)
        assert not damaged
        return max(logs, key=lambda log: len(log.events))  # children write little


@pytest.fixture
def runs(tmp_path: Path, build_dir: Path) -> Runs:
    return Runs(tmp_path, build_dir / "tests")


@dataclass(frozen=True)
class Sum:
    calls: int
    failed: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True)
class Totals:
    calls: dict[str, Sum]
    files: dict[str, Sum]
    limited: list[str]


def totals_of(log: Log) -> Totals:
    """As `trace show` has them."""
    run = Run.read(log.path.parent)
    names = [each.name for each in fields(Sum)]
    calls, files = (
        {key: Sum(*(row[name] for name in names)) for key, row in rows.items()} for rows in (run.by_call(), run.by_file())
    )
    return Totals(calls, files, run.limited())


def by_name(sums: dict[str, Sum], part: str) -> dict[str, Sum]:
    return {Path(name).name: total for name, total in sums.items() if part in Path(name).name}


def test_a_short_run_has_a_full_timeline(runs: Runs) -> None:
    log = runs.run_case("threads", 100, budget=64 * MIB)
    assert (len(log.merged), log.header["dropped_events"]) == (0, 0)
    assert totals_of(log).calls["pwrite"].calls == len(log.events[log.events["call"] == 21]) == 800


def test_like_calls_are_merged_and_all_totals_are_exact(runs: Runs) -> None:
    calls = 20_000
    log = runs.run_case("threads", calls, budget=2 * MIB)
    summary = totals_of(log)
    files = by_name(summary.files, "thread.")
    assert len(files) == 8
    assert {(total.calls, total.written_bytes) for total in files.values()} == {(calls + 2, 8 * calls)}
    assert (summary.calls["pwrite"].calls, summary.calls["open"].calls) == (8 * calls, 8)
    assert log.path.stat().st_size <= 2 * MIB + log.header["header_bytes"]
    assert (log.header["dropped_events"], summary.limited[0].split()[0]) == (0, f"{log.merged['calls'].sum():,}")
    (coverage,) = coverage_of([log])
    assert coverage.is_whole


def test_a_record_has_first_last_least_most_sums_and_histograms(runs: Runs) -> None:
    log = runs.run_case("threads", 20000)
    pwrites = log.merged[log.merged["call"] == 21]
    assert (pwrites["least_size"] == 8).all()
    assert (pwrites["most_size"] == 8).all()
    assert (pwrites["bytes"] == 8 * pwrites["calls"]).all()
    assert (pwrites["size_bins"][:, 4] == pwrites["calls"]).all()
    assert (pwrites["time_bins"].sum(axis=1) == pwrites["calls"]).all()
    assert (pwrites["least_ns"] > 0).all()
    assert (pwrites["least_ns"] <= pwrites["most_ns"]).all()
    assert (pwrites["least_ns"] * pwrites["calls"] <= pwrites["busy_ns"]).all()
    assert (pwrites["begin_ns"] + pwrites["busy_ns"] <= pwrites["last_ns"]).all()
    rows = tables_of(log)["merged"].to_pylist()
    assert {row["sizes"] for row in rows if row["call"] == "pwrite"} == {f"8:{row['calls']}" for row in rows}


def test_a_call_that_takes_long_is_an_event(runs: Runs) -> None:
    log = runs.run_budget_case("slow-calls", 5)
    summary = totals_of(log)
    slow = log.events[(log.events["call"] == 10) & (log.events["result"] == 1)]
    assert (slow["end_ns"] - slow["begin_ns"] > 2_000_000).sum() == 5
    assert summary.calls["read"].calls == 40_000 + 5
    assert summary.calls["read"].read_bytes == 5


def test_a_record_ends_when_its_file_is_closed_and_when_a_phase_ends(runs: Runs) -> None:
    log = runs.run_budget_case("open-again", 6)
    records = log.merged[(log.merged["call"] == 21)]
    closes = np.sort(log.events["begin_ns"][log.events["call"] == 2])
    assert len(records) >= 5
    for record in records:
        assert not ((closes > record["begin_ns"]) & (closes < record["last_ns"])).any()


def test_totals_of_files_that_come_after_the_budget_are_exact(runs: Runs) -> None:
    files = 6000
    log = runs.run_case("many-files", files)
    summary = totals_of(log)
    late = by_name(summary.files, "late.")
    assert set(late) == {f"late.{number}" for number in range(files)}
    assert {(total.calls, total.written_bytes) for total in late.values()} == {(3, 10)}
    assert log.header["dropped_events"] > 0
    assert log.counters["calls"].sum() == log.header["dropped_events"]
    assert "budget was spent" in log.counted_because
    assert (summary.calls["close"].calls, summary.calls["pwrite"].written_bytes) == (files, 40_000 + 10 * files)
    assert sum(len(log.events) + log.counters["calls"].sum() + log.merged["calls"].sum() for log in [log]) == sum(
        total.calls for total in summary.calls.values()
    )


def test_calls_of_signal_handlers_are_in_the_totals(runs: Runs) -> None:
    calls = 400_000
    log = runs.run_budget_case("interrupted", calls)
    handled = (runs.work / "count").stat().st_size
    assert handled > 10
    total = totals_of(log).calls["pwrite"]
    assert (total.calls, total.written_bytes) == (calls + 3 * handled, 8 * calls + 3 * handled)


def test_the_reason_is_no_free_descriptor(runs: Runs) -> None:
    log = runs.run_case("descriptors", 5000, budget=64 * MIB)
    assert log.header["dropped_events"] > 0
    assert log.counted_because == "the program had no free descriptor for the log"
    assert totals_of(log).limited[-1].endswith(log.counted_because)


def test_the_reason_is_a_limit_of_the_files_size(runs: Runs) -> None:
    limit = 256 << 10

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = launch.traced_environment(runs.logs, 64 * MIB)
    command = [runs.case, "many-files", str(runs.work), "2000"]
    subprocess.run(command, env=environment, check=True, timeout=HANGS_S, preexec_fn=limited)
    log = runs.read()
    assert log.path.stat().st_size <= limit
    assert log.counted_because == "the log's file would exceed the file size limit (ulimit -f)"
    summary = totals_of(log)
    assert sum(total.written_bytes for total in summary.files.values()) == 40_000 + 20_000


@pytest.mark.parametrize("number", [*range(10), *(pytest.param(number, marks=pytest.mark.full) for number in range(10, 100))])
def test_a_killed_program_loses_at_most_its_last_call(runs: Runs, rng: random.Random, number: int) -> None:
    process = subprocess.Popen([runs.case, "count", str(runs.work)], env=launch.traced_environment(runs.logs, MIB))
    counted = runs.work / "count"
    while not counted.exists() or counted.stat().st_size == 0:
        time.sleep(0.001)
    time.sleep(rng.uniform(0.1, 0.3))
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = int(np.fromfile(counted, np.uint64, 1)[0])
    log = runs.read()
    assert len(log.merged) > 0
    total = totals_of(log).calls["pwrite"]
    assert done <= total.calls <= done + 1
    records = log.merged[log.merged["call"] == 21]
    assert (records["bytes"] % records["calls"] == 0).all(), "calls and bytes belong together"
    assert (records["size_bins"].sum(axis=1) == records["calls"]).all()


def test_the_sums_that_were_being_changed_are_not_read() -> None:
    raw = np.zeros(1, MERGED_SLOTS)
    raw["kind"], raw["calls"], raw["call"] = MERGED, 3, 21
    raw["sums"]["bytes"] = [[999, 24]]  # the first ones are half changed
    raw["sums"]["size_bin"] = [[7, 4]]
    raw["size_bins"][0, 4] = 2  # and the last call is not in the bins
    raw["time_bins"][0, 9] = 3
    chunk = np.concatenate([np.zeros(64, np.uint8), raw.view(np.uint8)])
    (record,) = records_of([chunk])
    assert (record["bytes"], record["calls"], record["size_bins"][4], record["time_bins"].sum()) == (24, 3, 3, 3)
    assert records_of([]).dtype == RECORD
    assert histogram_text([1, 0, 0, 5, *[0] * (BINS - 4)]) == "0:1 4:5"


def test_the_commands_show_merged_and_counted_calls(runs: Runs, tailrace_command: list[str]) -> None:
    runs.run_case("many-files", 6000)
    shown = subprocess.run(
        [*tailrace_command, "trace", "show", str(runs.logs), "--json"], capture_output=True, text=True, timeout=HANGS_S, check=True
    )
    calls = json.loads(shown.stdout)["calls"]
    assert (calls["pwrite"]["calls"], calls["open"]["calls"]) == (46_000, 6001)
    sql = """select sum(calls) from (select count(*) as calls from events where call = 'pwrite'
             union all select sum(calls) from merged where call = 'pwrite'
             union all select sum(calls) from counters where call = 'pwrite')"""
    answer = subprocess.run(
        [*tailrace_command, "trace", "query", str(runs.logs), sql], capture_output=True, text=True, timeout=HANGS_S, check=True
    )
    assert "46000" in answer.stdout.replace(",", "").replace(".0", "")


def test_run_says_at_its_end_what_is_only_counted(runs: Runs, tailrace_command: list[str]) -> None:
    for budget, is_said in (("1", True), ("64", False)):
        logs = runs.work / budget
        command = [
            *tailrace_command,
            "run",
            "--log",
            str(logs),
            "--budget",
            budget,
            "--",
            runs.case,
            "many-files",
            str(runs.work),
            "6000",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=True)
        (log,), _ = read_run(logs)
        said = f"{log.header['dropped_events']:,} calls are only counted by file and call: the budget was spent"
        assert (said in done.stderr) == is_said, done.stderr


@pytest.mark.parametrize("steps", [1, 40])
def test_a_file_that_was_renamed_has_its_bytes_under_its_final_name(runs: Runs, steps: int) -> None:
    """Each step is written as stepN.partial, becomes `state`, and then `state_prev`."""
    log = runs.run_budget_case("renames", steps)
    tables = tables_of(log)
    moved: dict[str, int] = {}
    for row in tables["events"].to_pylist():
        if row["group"] == "write" and row["result"] > 0:
            moved[row["file"]] = moved.get(row["file"], 0) + row["result"]
    for row in tables["merged"].to_pylist():
        moved[row["file"]] = moved.get(row["file"], 0) + (row["moved"] if row["group"] == "write" else 0)
    for row in tables["counters"].to_pylist():
        moved[row["file"]] = moved.get(row["file"], 0) + row["bytes_written"]
    written = {Path(name).name: count for name, count in moved.items() if count}
    of_step = 1000 * 8
    assert written == {"state": of_step} | ({"state_prev": (steps - 1) * of_step} if steps > 1 else {})
