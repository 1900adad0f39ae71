"""The process that reads the logs of a large run gives what reading them here gives, and ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from tailrace.trace import log_process
from tailrace.trace.log import LogError
from tailrace.trace.log_process import LogReader, ProcessLogReader, open_logs
from tailrace.trace.model import Run

from tests.environment import is_running
from tests.trace_logs import make_run

READERS = (LogReader, ProcessLogReader)


def found_by(reader: type[LogReader], folder: Path) -> tuple[Run, object]:
    with reader(folder, keeps=True) as logs:
        run = Run.of_parts(logs.parts(), folder, with_calls=True)
        phases, coverage = logs.phases_and_coverage()
        return run, (phases and phases.to_json(), [asdict(one) for one in coverage])


def test_same_run_phases_and_coverage(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (here, of_logs), (there, of_logs_there) = (found_by(reader, folder) for reader in READERS)
    assert here.to_json() == there.to_json()
    assert of_logs == of_logs_there
    assert here.activity is not None
    assert there.activity is not None
    assert (here.activity.begin == there.activity.begin).all()
    assert here.to_json() == Run.read(folder).to_json()


@pytest.mark.parametrize("reader", READERS)
def test_damaged_logs_are_named(reader: type[LogReader], tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    whole = sorted(folder.glob("*.trace"))
    (folder / "a.trace").write_bytes(b"no log")
    cut = whole[0].read_bytes()
    (folder / "b.trace").write_bytes(cut[:8] + b"\x63" + cut[9:])  # a later version
    run, _ = found_by(reader, folder)
    assert len(run.messages["damaged"]) == 2
    assert "a.trace" in run.messages["damaged"][0]
    assert len(run.processes) == len(whole)


def test_a_killed_process_is_an_error(tmp_path: Path) -> None:
    with ProcessLogReader(make_run(tmp_path / "run"), keeps=True) as logs:
        os.kill(logs.process_number, signal.SIGSTOP)
        os.kill(logs.process_number, signal.SIGKILL)
        with pytest.raises(LogError, match="ended with -9"):
            Run.of_parts(logs.parts(), tmp_path / "run")


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    code = (
        "import os, sys; from pathlib import Path; from tailrace.trace.log_process import ProcessLogReader\n"
        f"reader = ProcessLogReader(Path({str(folder)!r}), keeps=True); next(reader.parts().parts)\n"
        "os.kill(reader.process_number, 19); print(reader.process_number, flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    number = int(done.stdout)
    end = time.monotonic() + 60
    while is_running(number):
        assert time.monotonic() < end, f"process {number} outlives its parent"
        time.sleep(0.01)


def test_large_runs_get_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "run")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with open_logs(folder, keeps=False) as logs:
        assert type(logs) is LogReader
    monkeypatch.setattr(log_process, "LARGE_BYTES", 1)
    with open_logs(folder, keeps=False) as logs:
        assert type(logs) is ProcessLogReader
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with open_logs(folder, keeps=False) as logs:
        assert type(logs) is LogReader
