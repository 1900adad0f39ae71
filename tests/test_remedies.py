"""Commands that messages name can be copied: a shell reads each name of a file in them as one word."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import tomli_w
from tailrace.plain_text import plain, quoted

# A shell would split it, end a text in quotes, start a program, or begin another command; a terminal would show it otherwise.
ODD = "a b\n'c\"$(touch made)\\n;&\t\x1b[2J\u202e\udcff012 ü大"
LIMIT_S = 120


@pytest.mark.parametrize(
    "name", [ODD, "", "plain-0.1/x", "two words", "`touch made`", "$HOME", "a\nb", "\\", "it's", "\n'", "ü", "\x7f0"]
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_reads_the_name_from_its_quoted_text(tmp_path: Path, shell: str, name: str) -> None:
    text = quoted(name)
    assert plain(text) == text, "a message shows it as it is"
    done = subprocess.run([shell, "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True, cwd=tmp_path, timeout=60)
    assert done.stdout == os.fsencode(name) + b"\0"
    assert not list(tmp_path.iterdir())


def test_simple_names_stay_as_they_are() -> None:
    assert quoted(Path("/scratch/tailrace-x3k2a_p1")) == "/scratch/tailrace-x3k2a_p1"


def copied(text: str, begin: str) -> str:
    """The first command in a message that begins so."""
    found = re.search(f"`({begin}[^`]*)`", text)
    assert found, text
    return found[1]


def by_bash(command: str, build_dir: Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PATH": f"{build_dir}/bin:{os.environ['PATH']}"}
    words = ["bash", "-c", command]
    return subprocess.run(words, env=variables, cwd="/", capture_output=True, text=True, check=False, timeout=LIMIT_S)


def test_remedies_of_a_run_work_with_odd_folders(tailrace_command: list[str], build_dir: Path, tmp_path: Path) -> None:
    top = tmp_path / ODD.replace("/", "|").replace("\udcff", "")
    base, scratch = top / "run", top / "scratch"
    for folder in (base, scratch):
        folder.mkdir(parents=True)
    (base / "tailrace.toml").write_text(tomli_w.dumps({"stage": {"files": ["out/**"], "scratch": str(scratch), "min_free": "1 B"}}))
    words = [*tailrace_command, "run", "--config", str(base / "tailrace.toml"), "--log", str(top / "log"), "--"]
    script = "mkdir out; echo whole > out/whole; echo ready; read line"
    with subprocess.Popen(
        [*words, "sh", "-c", script], cwd=base, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.wait()
        _, said = process.communicate("\n", timeout=LIMIT_S)  # the program ends, too
    resume = copied(said, "tailrace drain resume")
    (folder,) = scratch.iterdir()
    status = subprocess.run(
        [*tailrace_command, "drain", "status", folder], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert copied(status.stdout, "tailrace drain resume") == resume
    done = by_bash(resume, build_dir)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (base / "out/whole").read_text() == "whole\n"

    done = subprocess.run(
        [*tailrace_command, "run", "--log", top / "second", "--", "true"], capture_output=True, text=True, check=True
    )
    shown = by_bash(copied(done.stderr, "tailrace trace show"), build_dir)
    assert shown.returncode == 0, shown.stderr
