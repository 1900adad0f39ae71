"""Many members with a seeded list of ways to fail, while the parent is killed at random: each has its one right outcome."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble
from tailrace.journal import lines_of

from tests.ensembles import WAYS, compare, left_on_scratch, marked_processes, write_ensemble

KILLS = 5
# Generous: a good member of a busy machine must not reach them.
LIMITS = "timeout_s = {timeout}\nlinger_s = {linger}\ngrace_s = 0.2"
SLOW = ("hang", "daemon", "late")  # they wait for the limits


def list_of_ways(members: int, each: int, slow: int, rng: random.Random) -> list[str]:
    """Every way `each` times, those that wait `slow` times, and good members."""
    ways = [way for way in WAYS for _ in range(slow if way in SLOW else each)]
    ways += ["good"] * (members - len(ways))
    rng.shuffle(ways)
    return ways


def lines_in(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def kill_after(path: Path, word: str, journal: Path, lines: int) -> bool:
    """Whether the parent was killed; it may have ended before."""
    command = [sys.executable, "-m", "tailrace", "ensemble", word, str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if lines_in(journal) >= lines:
                process.send_signal(signal.SIGKILL)
                process.wait()
                return True
            time.sleep(0.01)
    return False


def run_with_kills(folder: Path, ways: list[str], limits: str, rng: random.Random) -> None:
    path = write_ensemble(folder, ways, limits)
    out = folder / "nasty-ensemble"
    journal = out / "members.jsonl"
    killed = 0
    for at in sorted(rng.sample(range(2, len(ways) - 20), KILLS)):
        killed += kill_after(path, "resume" if killed else "run", journal, at)
    assert killed == KILLS
    ensemble = Ensemble(path)
    summary = ensemble.run(resume=True)
    compare(out, ways)
    assert summary["failed"] == sum(1 for way in ways if WAYS[way])
    members = [line["member"] for _, line in lines_of(journal) if line["kind"] == "member"]
    assert sorted(members) == list(range(len(ways))), "a member that had an outcome ran again"
    assert left_on_scratch(folder) == []
    assert marked_processes(ensemble.folder.run) == []


def test_300_members_while_the_parent_is_killed(tmp_path: Path, rng: random.Random) -> None:
    run_with_kills(tmp_path, list_of_ways(300, 8, 2, rng), LIMITS.format(timeout=6, linger=3), rng)


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_10_000_members_while_the_parent_is_killed(tmp_path: Path, rng: random.Random) -> None:
    run_with_kills(tmp_path, list_of_ways(10_000, 100, 100, rng), LIMITS.format(timeout=6, linger=3), rng)
