"""Text of others reaches no terminal as more than text: every command, with names that hold what a terminal would obey."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import tailrace
import tomli_w
from tailrace.cli.commands import COMMANDS
from tailrace.plain_text import plain, plain_lines

from tests.study_files import study_values

# Sets the title of a terminal, rings, goes to a line of its own, clears the screen in both ways, and turns the direction of text.
# `[/]` and `[red]` are markup of rich.
FAKED = "FAKED"
EVIL = f"a\x1b]0;title\x07[/]b[red]\n{FAKED} all is well\x1b[2J\x9b2J\u202egnp.exe\\"
FORBIDDEN = ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e", f"\n{FAKED}", "tailrace/cli/app.py")  # the last: in a traceback
# What rich itself sends to a terminal: colours, the cursor's visibility and steps, and erased lines.
OF_RICH = re.compile(r"\x1b\[[\d;]*m|\x1b\[\?25[hl]|\x1b\[\d*[ABCDGK]|\x1b\[\d+;\d+H|\x1b\[H|\x1b\]8;[^\x1b]*\x1b\\")
LIMIT_S = 60


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, tailrace_command: list[str]) -> Path:
    """A folder with an evil name, and in it a stream, a broken stream, a log, a result of IOR, a study and variables."""
    folder = tmp_path_factory.mktemp("plain") / EVIL.replace("/", "|")
    folder.mkdir()
    with tailrace.open(folder / "out", "history", layout="fpp") as stream:
        stream.dim("x", 3)
        stream.var("T", ("x",), "f4", units=EVIL)
        for time_s in (1.0, 2.0):
            with stream.step(time=time_s) as step:
                step.put("T", [1.0, 2.0, 3.0])
    subprocess.run(["cp", "-r", folder / "out", folder / "broken"], check=True)
    for part in (folder / "broken").rglob("*.nc"):
        part.write_bytes(part.read_bytes()[:100])
    evil_file = EVIL.replace("/", "|")
    script = folder / "program"
    script.write_text('#!/bin/sh\necho x > "$1"; cat "$1"; exec env -i /bin/cat "$1"\n')
    script.chmod(0o755)
    log = [*tailrace_command, "run", "--log", "log", "--", "./program", evil_file]
    subprocess.run(log, cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)
    values = {"Type": "", "bwMiB": 1.0, "blockKiB": 1.0, "xferKiB": 1.0, "iops": 1.0, "totalTime": 1.0, "access": EVIL}
    tests = [{"TestID": 0, "Parameters": {"testFileName": EVIL, "api": EVIL}, "Results": [values], "Options": {}}]
    (folder / "ior.json").write_text(json.dumps({"Version": "IOR-4.0", "Command line": EVIL, "tests": tests}))
    (folder / "damaged").mkdir()
    (folder / "damaged" / f"{evil_file}.trace").write_bytes(b"TRTRACE\n\x01" + bytes(300))
    (folder / "study.toml").write_text(tomli_w.dumps(study_values(name=EVIL)))
    (folder / "words.toml").write_text(tomli_w.dumps({EVIL: {"shape": "x"}}))
    (folder / "good.toml").write_text(tomli_w.dumps(study_values(parameters={"behaviour": f"fail{EVIL}"}, repetitions=1)))
    (folder / "tailrace.toml").write_text(tomli_w.dumps({EVIL: 1, "layout": EVIL}))
    return folder


# The words of each command; NAME is an evil name that does not exist.
CASES: dict[str, list[str]] = {
    "study, name": ["study", "study.toml", "--out", "results-name"],
    "study, results": ["study", "good.toml", "--out", "results"],
    "study, dry run": ["study", "good.toml", "--out", "results", "--dry-run"],
    "study, no file": ["study", "NAME"],
    "plan": ["plan", "hds", "--variables", "words.toml"],
    "plan, name": ["plan", "hds", "--name", "NAME", "--shape", "T:3"],
    "plan, layout": ["plan", "NAME"],
    "plan, picture": ["plan", "hds", "--shape", "T:3", "--svg", "NAME.svg"],
    "ls": ["ls", "HERE/out"],
    "ls, nothing": ["ls", "NAME"],
    "ls, no stream": ["ls", "out", "--stream", "NAME"],
    "verify": ["verify", "HERE/out"],
    "verify, damaged": ["verify", "HERE/broken", "--deep"],
    "repair": ["repair", "HERE/broken", "--dry-run"],
    "rewind": ["rewind", "NAME", "--before", "1"],
    "adopt": ["adopt", "NAME"],
    "index": ["index", "HERE/out"],
    "combine": ["combine", "HERE/out", "NAME.nc"],
    "convert": ["convert", "HERE/out", "NAME", "--layout", "hds"],
    "check": ["check", "./program"],
    "check, no program": ["check", "NAME"],
    "run": ["run", "--log", "NAME-log", "--", "env", "-i", "/sbin/ldconfig", "--version"],
    "run, no program": ["run", "NAME"],
    "run, a folder that is not empty": ["run", "--log", "HERE", "true"],
    "run, budget": ["run", "--budget", "NAME", "true"],
    "show": ["trace", "show", "HERE/log", "--top", "100", "--all"],
    "show, IOR": ["trace", "show", "HERE/ior.json"],
    "show, damaged": ["trace", "show", "HERE/damaged"],
    "show, nothing": ["trace", "show", "NAME"],
    "report": ["report", "HERE/log"],
    "report, nothing": ["report", "NAME"],
    "phases": ["trace", "phases", "HERE/log"],
    "query": ["trace", "query", "HERE/log", "select distinct * from events"],
    "query, wrong": ["trace", "query", "HERE/log", "select NAME"],
    "export": ["trace", "export", "HERE/log", "NAME", "--to", "csv"],
    "export, wrong": ["trace", "export", "HERE/log", "--to", "NAME"],
    "coverage": ["coverage", "HERE/log"],
    "coverage, nothing": ["coverage", "NAME"],
    "drain": ["drain", "copy", "NAME", "NAME"],
    "tree": ["tree", "apply", "NAME"],
    "extract": ["extract", "NAME", "NAME"],
    "propose": ["place", "propose", "NAME"],
    "place": ["place", "explain", "NAME"],
    "ensemble": ["ensemble", "status", "NAME"],
    "cluster": ["cluster", "status", "-c", "NAME"],
    "resolve": ["resolve"],
    "completion": ["completion", "NAME"],
    "keys": ["keys", "NAME"],
    "demo": ["demo", "--out", "HERE/ior.json"],
    "an option": ["ls", "--NAME"],
    "a command": ["NAME"],
}


def on_terminal(command: Sequence[str], folder: Path) -> str:
    """What a command writes where its output and its errors are a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "150"}
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text = b""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end and select.select([ours], [], [], LIMIT_S)[0]:
        try:
            now = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        text += now
    os.close(ours)
    process.kill()
    process.wait()
    return text.decode(errors="replace").replace("\r\n", "\n")


def test_every_command_is_tried() -> None:
    assert {words[0] for words in CASES.values()} >= set(COMMANDS)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_text_of_others_is_only_text(tailrace_command: list[str], places: Path, name: str) -> None:
    words = [word.replace("HERE", str(places)).replace("NAME", EVIL) for word in CASES[name]]
    command = [*tailrace_command, *words]
    done = subprocess.run(command, cwd=places, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False)
    for text in (done.stdout, done.stderr):
        assert not [found for found in (*FORBIDDEN, "\x1b") if found in text], text
    shown = OF_RICH.sub("", on_terminal(command, places))
    assert shown, words
    assert not [found for found in (*FORBIDDEN[:-2], FORBIDDEN[-1], "\x1b") if found in shown], shown


def test_a_name_is_one_line_and_can_be_read() -> None:
    assert plain("Größe – 大 file.nc") == "Größe – 大 file.nc"
    assert plain("a\x1b\n\udcff") == "a\\x1b\\n\\udcff"
    assert plain_lines("a\nb\x07") == "a\nb\\x07"
