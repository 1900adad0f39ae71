"""The manual pages: one for each command, that `man` shows without a warning, with all that --help has."""

from __future__ import annotations

import importlib
from typing import Any, cast

import pytest
import typer
from tailrace.cli import COMMANDS
from tailrace.cli.app import make_app

from tests.environment import ROOT
from tests.mpirun import run_within

pytestmark = pytest.mark.fast

FOLDER = ROOT / "docs" / "man"


def shown(page: str) -> str:
    """As on a wide terminal, so that no option is broken into two lines."""
    wide = {"LC_ALL": "C.UTF-8", "MANWIDTH": "200", "MANPAGER": "cat"}
    finished = run_within(["man", "--warnings", "--no-hyphenation", "--local-file", str(FOLDER / page)], wide)
    assert finished.returncode == 0, finished.output
    assert finished.stderr == ""
    return finished.stdout


def names_of(command: str) -> list[str]:
    """The command, and those of its group."""
    group = getattr(importlib.import_module(f"tailrace.cli.{command}"), "group", None)
    return [command, *(f"{command}-{name}" for name in ([*cast(Any, typer.main.get_command(group)).commands] if group else []))]


ALL_COMMANDS = [name for command in COMMANDS for name in names_of(command)]


def test_a_page_for_each_command() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"tailrace.1", *(f"tailrace-{name}.1" for name in ALL_COMMANDS)}


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_page_of_a_command(needs: Any, name: str) -> None:
    needs("man")
    text = shown(f"tailrace-{name}.1")
    command: Any = typer.main.get_command(make_app())
    for word in name.split("-"):
        command = command.commands[word]
    options = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
    typed = f"tailrace {name.replace('-', ' ')}"
    for word in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", typed, "tailrace(1)", *options):
        assert word in text
    assert "[bold]" not in text


def test_page_of_the_program(needs: Any) -> None:
    needs("man")
    text = shown("tailrace.1")
    for word in ("--version", "EXIT STATUS", *(f"tailrace-{name}(1)" for name in COMMANDS)):
        assert word in text
