"""Runs that write one stream: in this process, and as processes that stop or die before any call (tests/faults/two_runs.c)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace

from tests.environment import HANGS_S, ROOT
from tests.journal import journal_lines

CELLS = 8
LAYOUTS: dict[str, dict[str, Any]] = {
    "single-1": {"layout": "single", "steps": 1},
    "single-3": {"layout": "single", "steps": 3},
    "single-all": {"layout": "single", "steps": "all"},
    "fpp-1": {"layout": "fpp", "steps": 1},
    "fpp-all": {"layout": "fpp", "steps": "all"},
}


def open_stream(folder: Path, **options: Any) -> tailrace.Stream:
    stream = tailrace.open(folder, "h", **options)
    stream.dim("x", CELLS)
    stream.var("T", ("x",), "f8")
    return stream


def write_step(stream: tailrace.Stream, time_s: float) -> None:
    with stream.step(time=time_s) as step:
        step.put("T", np.full(CELLS, time_s), offset=(0,))


def shown(folder: Path) -> list[float]:
    """The times that plain netCDF4 sees; each value is checked."""
    with netCDF4.Dataset(folder / "h.nc") as file:
        times = np.asarray(file["time"][:].filled(np.nan), float)
        values = np.asarray(file["T"][:].filled(np.nan), float)
    # Room that is laid out for steps to come has no time.
    there = ~np.isnan(times)
    np.testing.assert_array_equal(values[there], np.repeat(times[there, None], values.shape[1], axis=1))
    return list(times[there])


@dataclass
class Process:
    """tests/python_two_runs.py, which tells what became of its steps."""

    process: subprocess.Popen[str]
    told: list[dict[str, Any]] = field(default_factory=list)

    @staticmethod
    def start(
        folder: Path,
        library: Path,
        options: dict[str, Any],
        *,
        steps: int = 6,
        pause_s: float = 0.0,
        locks: str = "there",
        stop: int = 0,
        only: str = "",
    ) -> Process:
        command = [
            sys.executable,
            str(ROOT / "tests" / "python_two_runs.py"),
            str(folder),
            str(steps),
            str(pause_s),
            json.dumps(options),
        ]
        env = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "TWO_RUNS_DIRECTORY": f"{folder}/",
            "TWO_RUNS_LOCKS": locks,
            "TWO_RUNS_STOP": str(stop),
            "TWO_RUNS_ONLY": only,
        }
        return Process(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def is_stopped(self) -> bool:
        """It has reached the call at which it stops itself."""
        try:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state == "T"

    def wait_until_stopped_or_ended(self, at_most_s: float = HANGS_S) -> None:
        deadline = time.monotonic() + at_most_s
        while time.monotonic() < deadline and self.process.poll() is None and not self.is_stopped():
            time.sleep(0.002)

    def send(self, what: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(what)

    def end(self) -> None:
        try:
            out, err = self.process.communicate(timeout=HANGS_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            pytest.fail(f"the run did not end: {out}\n{err}")
        self.told = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
        assert self.process.returncode in (0, 3, -signal.SIGKILL), f"{self.process.returncode}: {out}\n{err}"

    def written(self) -> list[float]:
        return [told["time"] for told in self.told if told["event"] == "step"]

    def error(self) -> dict[str, Any] | None:
        return next((told for told in self.told if told["event"] == "error"), None)


def check_all_is_there(folder: Path, library: Path, options: dict[str, Any], processes: list[Process], context: str) -> None:
    """After a last run: each step that was reported as written is there once, and every value is right."""
    last = Process.start(folder, library, {**options, "take_over": True}, steps=1)
    last.end()
    assert last.error() is None, f"{context}: {last.told}"
    acknowledged = [time_s for process in [*processes, last] for time_s in process.written()]
    times = shown(folder)
    assert len(set(times)) == len(times), f"{context}: a step is there twice: {times}"
    missing = set(acknowledged) - set(times)
    assert not missing, f"{context}: steps were reported as written and are not there: {missing} {[p.told for p in processes]}"
    report = tailrace.verify(folder, "h", deep=True)
    assert report["ok"], f"{context}: {report['problems']}"
    committed = [line["time"] for line in journal_lines(folder / "h.parts" / "journal.jsonl") if line["kind"] == "step"]
    assert committed == times or sorted(set(committed)) == sorted(times), context
