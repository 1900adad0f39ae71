"""`tailrace run` with [stage]: closed files are copied while the program runs, and get their names at its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_stage_run import STAGE, Staged, lying


@pytest.fixture
def staged(tmp_path: Path, tailrace_command: list[str]) -> Staged:
    found = Staged(tmp_path, tailrace_command)
    found.configure(STAGE + "while_running = true\n")
    return found


# A program waits for its copies: `copied(N)` returns when so many are recorded. The run's folder on scratch is told by its name.
WAIT = """
import glob, os, signal, subprocess, sys, time
SCRATCH = {scratch!r}
def recorded():
    found = glob.glob(SCRATCH + "/tailrace-*/.tailrace-drain/early.jsonl")
    return open(found[0]).read().count('"copied"') if found else 0
def copied(count):
    until = time.monotonic() + 90
    while recorded() < count:
        assert time.monotonic() < until, "nothing is copied"
        time.sleep(0.05)
def besides():
    numbers = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{{number}}/cmdline", "rb").read().split(b"\\0")
        except OSError:
            continue
        if b"beside" in words and any(word.startswith(os.fsencode(SCRATCH)) for word in words):
            numbers.append(int(number))
    return numbers
def put(name, text):
    with open("out/" + name, "w") as file:
        file.write(text)
os.mkdir("out")
"""


def words_of(staged: Staged, script: str) -> list[str]:
    return [sys.executable, "-c", WAIT.format(scratch=str(staged.scratch)) + script]


def test_what_is_closed_is_copied_while_the_program_runs(staged: Staged) -> None:
    """And what the program does to it afterwards is what counts. The program does not see the copies."""
    script = """
for name in ("kept", "removed", "rewritten", "renamed", "second"): put(name, name)
open_file = open("out/open", "w"); open_file.write("x"); open_file.flush()
copied(5)
os.remove("out/removed"); put("rewritten", "again"); os.rename("out/renamed", "out/final"); put("late", "late")
print(sorted(os.listdir(".")), sorted(os.listdir("out")), os.path.getsize("out/open"))
"""
    done = staged.run(words_of(staged, script))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['out', 'tailrace.toml'] ['final', 'kept', 'late', 'open', 'rewritten', 'second'] 1\n"
    found = {path.name: path.read_text() for path in (staged.base / "out").iterdir()}
    assert found == {"kept": "kept", "rewritten": "again", "final": "renamed", "second": "second", "late": "late", "open": "x"}
    assert "6 files" in done.stderr
    assert "of them 3 files, 17 B had been copied while the program ran" in done.stderr
    assert not staged.folders()
    assert not list(staged.base.glob(".tailrace*"))


def test_it_may_die_and_the_run_goes_on(staged: Staged) -> None:
    """It is started again, a few times; then the drain at the end does all."""
    script = """
put("first", "1"); copied(1)
for _ in range(5):
    for number in besides(): os.kill(number, signal.SIGKILL)
    time.sleep(0.05)
put("more", "2")
"""
    done = staged.run(words_of(staged, script))
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_text() for path in (staged.base / "out").iterdir()} == {"first": "1", "more": "2"}
    assert "of them 1 file, 1 B had been copied" in done.stderr
    assert not staged.folders()
    assert not list(staged.base.glob(".tailrace*"))


def test_a_program_that_removes_all_its_files_leaves_nothing(staged: Staged) -> None:
    done = staged.run(words_of(staged, 'put("a", "1"); copied(1); os.remove("out/a")'))
    assert done.returncode == 0, done.stderr
    assert lying(staged.base / "out") == {}
    assert not staged.folders()
    assert not list(staged.base.glob(".tailrace*"))


def start(staged: Staged, script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        staged.words(words_of(staged, script)),
        cwd=staged.base,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_after_a_kill_of_the_command_its_copies_are_used(staged: Staged) -> None:
    script = 'put("whole", "w"); copied(1); print(*besides(), flush=True); sys.stdin.readline()'
    with start(staged, script) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        number = int(process.stdout.readline())
        (folder,) = staged.folders()
        assert (
            "of them copied while the program ran, without their names yet: 1 files, 1 B"
            in staged.drain("status", str(folder)).stdout
        )
        process.kill()
        process.wait()
        process.stdin.close()
        assert process.stdout.read() == ""  # the program has ended
    until = time.monotonic() + 60
    while Path(f"/proc/{number}").exists() and "Z" not in Path(f"/proc/{number}/stat").read_text().split()[2]:
        assert time.monotonic() < until, "it does not end with the command"
        time.sleep(0.02)
    found = staged.drain("scavenge", str(staged.base))
    assert "unfinished copies of a drain" in found.stdout
    resumed = staged.drain("resume", str(folder))
    assert resumed.returncode == 0, resumed.stderr
    assert "of them 1 file, 1 B had been copied while the program ran" in resumed.stdout
    assert (staged.base / "out/whole").read_text() == "w"
    assert not list(staged.base.glob(".tailrace*"))


def test_a_time_limit_and_a_kill_leave_whole_and_torn_files(staged: Staged) -> None:
    """A batch system sends SIGTERM to the command. What the program had open by then is torn, also where it had a copy."""
    script = """
put("whole", "w"); put("half", "h"); copied(2)
half = open("out/half", "r+"); half.write("H"); half.flush()
print("ready", flush=True); signal.pause()
"""
    with start(staged, script) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
    assert process.returncode == 128 + signal.SIGTERM
    assert {path.name: path.read_text() for path in (staged.base / "out").iterdir()} == {"whole": "w", "half.torn": "H"}
    assert "of them 1 file, 1 B had been copied" in said


@pytest.mark.parametrize("text", ["", "while_running = false\n", 'sink = "bundle"\n'])
def test_it_can_be_left_out(staged: Staged, text: str) -> None:
    staged.configure(STAGE + text)
    done = staged.run(words_of(staged, 'put("a", "1"); print(besides())'))
    assert (done.stdout, done.returncode) == ("[]\n", 0)
    assert "had been copied" not in done.stderr


def test_bundles_are_not_made_while_a_program_runs(staged: Staged) -> None:
    staged.configure(STAGE + 'sink = "bundle"\nwhile_running = true\n')
    done = staged.run(["touch", "started"])
    assert done.returncode == 2
    assert "bundles are made when the program has ended" in done.stderr.replace("\n", " ")
    assert not (staged.base / "started").exists()
