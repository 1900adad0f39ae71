"""The memory limit of a member: all its processes, also those that the command left running, and shared pages once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble
from tailrace.ensemble.memory import MemoryWatch, used_bytes

from tests.ensembles import marked_processes, table_of, write_ensemble

MIB = 1 << 20
SHARED_MIB, CHILDREN = 64, 3
NO_PID = 1 << 30
# Children that have the pages of their parent. All wait for the end of the input.
FORKS = f"""
import os, sys
data = b"1" * ({SHARED_MIB} << 20)
children = []
for _ in range({CHILDREN}):
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    children.append(child)
print(os.getpid(), *children, flush=True)
sys.stdin.read()
"""


def test_pages_that_processes_share_count_once_above_the_limit() -> None:
    if not os.path.exists("/proc/self/smaps_rollup"):
        pytest.skip("this kernel has no /proc/PID/smaps_rollup")
    with subprocess.Popen([sys.executable, "-S", "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 1 + CHILDREN
        alone = used_bytes(pids[:1], 1 << 60)
        assert used_bytes(pids, 1 << 60) > len(pids) * SHARED_MIB * MIB
        watch = MemoryWatch(2 * SHARED_MIB * MIB)
        assert not watch.is_over(pids)
        assert SHARED_MIB * MIB < watch.peak_bytes < 2 * alone
        assert MemoryWatch(SHARED_MIB * MIB).is_over(pids)
        assert used_bytes([*pids, NO_PID], 1 << 60) > 0
        assert used_bytes([NO_PID], 0) == 0


@pytest.mark.parametrize("way", ["memory", "late memory"])
def test_a_member_above_its_memory_limit_is_ended(tmp_path: Path, way: str) -> None:
    """Its child is the one that takes the memory, while the command runs or when it has ended."""
    limits = "timeout_s = 300\nlinger_s = 300\ngrace_s = 0.2\nmemory_mib = 60"
    ensemble = Ensemble(write_ensemble(tmp_path, [way, "good"], limits))
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    assert rows[0]["reason"] == "memory"
    assert "[limits] memory_mib = 60" in rows[0]["message"]
    assert rows[1]["result"] == "1.5"
    assert marked_processes(ensemble.folder.run) == []


def test_status_says_how_memory_is_limited(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good"], "memory_mib = 600")
    Ensemble(path).run()
    words = [sys.executable, "-m", "tailrace", "ensemble", "status", str(path)]
    shown = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "memory limit of a member: 600 MiB, watched every 50 ms" in shown.stdout
