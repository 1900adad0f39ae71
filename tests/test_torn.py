"""What a killed process had open for writing is delivered as NAME.torn, and told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.trace.log import LogError
from tailrace.trace.torn import torn_below

from tests.drain_states import delivered

BEGIN = """
import ctypes, os, signal, subprocess, sys
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
"""
WRITES = """
os.mkdir("data")
for name in ("done", "data/again"):
    with open(name, "w") as file:
        file.write("whole")
half = open("data/half", "w", buffering=1)
half.write("the half\\n")
again = open("data/again", "a")
empty = open("empty", "w")
stream = libc.fopen(b"stream", b"w")
moved = open("old name", "w", buffering=1)
moved.write("half\\n")
os.rename("old name", "moved")
read = open("done").read(2)
reading = open("done")
os.link("data/half", "second name of half")
"""
CHILD = """
file = open("of the parent", "wb", buffering=0)
if os.fork() == 0:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
"""
END = "os.kill(os.getpid(), signal.SIGKILL)\n"
TORN = {b"data/half", b"data/again", b"empty", b"stream", b"moved", b"second name of half"}
WHOLE = {b"done"}


def run_on_scratch(command: list[str], folder: Path, program: str, *options: str) -> tuple[Path, Path]:
    """The scratch folder, and the log of the program that ran there."""
    scratch, log = folder / "scratch", folder / "log"
    scratch.mkdir(mode=0o700)
    words = [*command, "run", "--log", str(log), *options, "--", sys.executable, "-c", BEGIN + program]
    subprocess.run(words, cwd=scratch, capture_output=True, check=False, timeout=60)
    return scratch, log


@pytest.mark.parametrize("sink", ["mirror", "bundle"])
def test_files_of_a_killed_program_are_torn(tailrace_command: list[str], tmp_path: Path, sink: str) -> None:
    scratch, log = run_on_scratch(tailrace_command, tmp_path, WRITES + END)
    words = [*tailrace_command, "drain", "copy", str(scratch), str(tmp_path / "target"), "--log", str(log)]
    words += ["--bundle"] if sink == "bundle" else []
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    found = delivered(tmp_path / "target", sink)
    assert set(found) == {name + b".torn" for name in TORN} | WHOLE
    assert found[b"data/half.torn"] == b"the half\n"
    assert found[b"done"] == b"whole"
    for name in TORN:
        assert f"while it had the file open: {os.fsdecode(name)}.torn" in done.stdout
    # The program is started again, and writes them whole.
    (scratch / "empty").write_text("whole")
    again = subprocess.run(words[:5] + words[7:], capture_output=True, text=True, check=False, timeout=60)
    assert again.returncode == 0, again.stdout + again.stderr
    assert delivered(tmp_path / "target", sink)[b"empty"] == b"whole"


def test_a_torn_file_keeps_being_torn_when_another_process_renames_its_folder(tailrace_command: list[str], tmp_path: Path) -> None:
    """Also where the old name has been used again, for a file that is whole."""
    program = """
os.makedirs("unfinished/in")
if (child := os.fork()) == 0:
    half = open("unfinished/in/half", "w", buffering=1)
    half.write("half")
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
os.rename("unfinished", "old")
os.rename("old/in", "old/inner")
os.makedirs("unfinished/in")
open("old/inner/whole", "w").close()
"""
    scratch, log = run_on_scratch(tailrace_command, tmp_path, program)
    assert "old/inner/half" in torn_below(scratch, log)
    assert "old/inner/whole" not in torn_below(scratch, log)


def test_a_program_that_ends_has_no_torn_files(tailrace_command: list[str], tmp_path: Path) -> None:
    scratch, log = run_on_scratch(tailrace_command, tmp_path, WRITES + "os._exit(3)\n")
    assert torn_below(scratch, log) == []


def test_a_child_that_is_killed_tears_what_its_parent_had_opened(tailrace_command: list[str], tmp_path: Path) -> None:
    scratch, log = run_on_scratch(tailrace_command, tmp_path, CHILD)
    assert torn_below(scratch, log) == ["of the parent"]


def test_counted_calls_are_enough(tailrace_command: list[str], tmp_path: Path) -> None:
    """The log is full before the files are opened."""
    many = "for k in range(60000):\n    os.path.exists(f'none/{k}')\n"
    scratch, log = run_on_scratch(tailrace_command, tmp_path, many + WRITES + END, "--budget", "1")
    found = {os.fsencode(name) for name in torn_below(scratch, log)}
    assert {b"data/half", b"data/again"} <= found
    assert b"data" not in found


def test_a_process_that_runs_is_not_killed(tailrace_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir(mode=0o700)
    program = "import sys; f = open('file', 'w'); print('ready', flush=True); sys.stdin.read()"
    words = [*tailrace_command, "run", "--log", str(tmp_path / "log"), "--", sys.executable, "-c", program]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=tmp_path / "scratch", **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"ready\n"
        assert torn_below(tmp_path / "scratch", tmp_path / "log") == []
        process.communicate()


def test_a_damaged_log_is_refused(tailrace_command: list[str], tmp_path: Path) -> None:
    scratch, log = run_on_scratch(tailrace_command, tmp_path, WRITES + END)
    (log / "damaged.trace").write_bytes(b"no log")
    with pytest.raises(LogError, match="which files are torn is not known"):
        torn_below(scratch, log)


def test_a_log_that_is_not_there_is_refused(tailrace_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir(mode=0o700)
    (tmp_path / "scratch/file").write_text("1")
    words = [*tailrace_command, "drain", "copy", str(tmp_path / "scratch"), str(tmp_path / "target"), "--log", str(tmp_path / "no")]
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "no such folder" in json.loads(done.stdout)["error"]["message"]
    assert (tmp_path / "scratch/file").exists(), "nothing is delivered under a name that may be wrong"
