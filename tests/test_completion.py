"""Completion in the shells themselves: each is given the script and a line that is not finished, and says what can follow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tailrace

from tests.mpirun import run_within

# What each shell does when the key is pressed, without a terminal.
SHELLS = {
    "bash": (
        ["bash", "--norc", "-c"],
        'source "$2"; read -ra COMP_WORDS <<< "$1"; [[ $1 == *" " ]] && COMP_WORDS+=("")\n'
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); words=($(complete -p tailrace)); ${words[-2]} tailrace\n"
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ),
    "zsh": (
        ["zsh", "-f", "-c"],
        'compdef() { }; source "$2"; _arguments() { print -r -- "$@" }; _files() { }\n'
        'words=("${(@s: :)1}"); CURRENT=$#words; _tailrace_completion',
    ),
    "fish": (["fish", "--no-config", "-c"], 'source "$argv[2]"; complete --do-complete "$argv[1]"'),
}


def completed(shell: str, taught: Path, line: str, folder: Path) -> str:
    """What the shell has for the last word of the line, by the script in the file `taught`."""
    start, action = SHELLS[shell]
    name = [] if shell == "fish" else [shell]  # $0
    finished = run_within([*start, action, *name, line, str(taught)], {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    assert finished.stderr == "", finished.output
    return finished.stdout


@pytest.fixture
def streams(tmp_path: Path) -> Path:
    for name in ("history", "restart"):
        with tailrace.open(tmp_path, name) as stream:
            stream.var("mass")
            with stream.step(time=0.0) as step:
                step["mass"] = 1.0
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_values(shell: str, needs: Any, tailrace_command: list[str], streams: Path) -> None:
    needs(shell)
    taught = streams / "completion"
    taught.write_text(run_within([*tailrace_command, "completion", shell]).stdout)
    for line, there, absent in (
        ("tailrace ver", "verify", "repair"),
        ("tailrace verify --de", "--deep", "--stream"),
        ("tailrace plan h", "hds", "single"),
        (f"tailrace ls {streams} --stream re", "restart", "history"),
        (f"tailrace combine {streams} {streams}/one.nc -s h", "history", "restart"),
    ):
        found = completed(shell, taught, line, Path(tailrace_command[0]).parent)
        assert there in found, line
        assert absent not in found, line


@pytest.mark.fast
def test_unknown_shell(tailrace_command: list[str]) -> None:
    refused = run_within([*tailrace_command, "completion", "tcsh"])
    assert refused.returncode == 2
    assert "zsh" in refused.stderr
