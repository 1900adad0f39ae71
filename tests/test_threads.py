"""What threads use at a time, under ThreadSanitizer: tests/threads/*_test.cpp, a program each. A race ends a program with 66."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tailrace.trace.model import Run

from tests.environment import ROOT
from tests.mpirun import run_within

PARTS = ("board", "write_queue")
CALLS = 4 * 5000  # of log_test.cpp
SANITIZER = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}


def run(build_dir: Path, name: str, folder: Path, **environment: str) -> None:
    program = build_dir / "tests" / f"threads_{name}"
    assert program.exists(), f"{program} is not built: run `make build`"
    finished = run_within([str(program)], timeout_s=120, cwd=folder, env={**os.environ, **SANITIZER, **environment})
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_each_source_is_run() -> None:
    assert {path.name for path in (ROOT / "tests" / "threads").glob("*_test.cpp")} == {
        f"{name}_test.cpp" for name in (*PARTS, "log")
    }


@pytest.mark.parametrize("name", PARTS)
def test_no_race(build_dir: Path, tmp_path: Path, name: str) -> None:
    run(build_dir, name, tmp_path)


@pytest.mark.parametrize("budget_bytes", [64 << 20, 8 * 64 << 10], ids=["all-events", "budget-spent"])
def test_no_race_in_the_log_and_each_call_is_counted(build_dir: Path, tmp_path: Path, budget_bytes: int) -> None:
    folder = tmp_path / "trace"
    folder.mkdir()
    run(build_dir, "log", tmp_path, TAILRACE_TRACE=str(folder), TAILRACE_TRACE_BYTES=str(budget_bytes))
    run_of = Run.read(folder)
    for rows in (run_of.by_call(), run_of.by_file()):
        writes = [row for name, row in rows.items() if "/shared/" in name or "/own/" in name or name == "write"]
        assert sum(row["calls"] for row in writes) == CALLS
        assert sum(row["written_bytes"] for row in writes) == CALLS * 64
