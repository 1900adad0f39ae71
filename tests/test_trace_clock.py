"""The times of events are those of CLOCK_MONOTONIC, though most are computed from the processor's counter of ticks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from tailrace.trace import launch
from tailrace.trace.log import read_run

from tests.environment import HANGS_S

# Each call lies between two times that the program asks the kernel for. Pauses are shorter and longer than the millisecond for
# which the tracer computes times without asking the kernel.
PROGRAM = """
import os, sys, threading, time
now = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)
def work(name, pauses):
    lines, file = [], os.open(name, os.O_RDWR | os.O_CREAT)
    for number in range(3000):
        before = now()
        os.pwrite(file, b"x", number)
        lines.append(f"{before} {now()}")
        if number % 100 == 0:
            time.sleep(pauses[number // 100 % len(pauses)])
    with open(name + ".times", "w") as times:
        times.write("\\n".join(lines))
threads = [threading.Thread(target=work, args=(f"{sys.argv[1]}/file{i}", pauses))
           for i, pauses in enumerate([(0.0002, 0.003, 0.03), (0.0, 0.0007)])]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
NEAR_NS = 2000  # two readings of the counter and of the kernel's time, and the error of the rate


def test_times_lie_between_those_that_the_program_sees(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    subprocess.run(command, env=launch.traced_environment(logs, 64 << 20), check=True, timeout=HANGS_S)
    (log,), damaged = read_run(logs)
    assert not damaged
    number = {call.name: key for key, call in log.calls.items()}["pwrite"]
    for name in ("file0", "file1"):
        file = {text: key for key, text in log.names.items()}[f"{tmp_path}/{name}"]
        events = log.events[(log.events["call"] == number) & (log.events["file"] == file)]
        events = events[np.argsort(events["offset"])]
        begins, ends = (events[field].astype(np.int64) for field in ("begin_ns", "end_ns"))
        before, after = np.loadtxt(f"{tmp_path}/{name}.times", dtype=np.int64).T
        assert len(events) == len(before) == 3000
        assert np.all(begins <= ends)
        assert np.all(begins[1:] >= ends[:-1])
        assert np.min(begins - before) > -NEAR_NS
        assert np.min(after - ends) > -NEAR_NS
