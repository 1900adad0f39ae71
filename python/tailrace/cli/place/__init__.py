"""tailrace place: the rules that say where the files of unmodified programs go.

A command of the group is a module of this folder with a function `command`; its name is in the list below.
"""

from __future__ import annotations

import importlib

import typer

COMMANDS = ("propose", "explain", "check")  # in the order of --help

group = typer.Typer(
    no_args_is_help=True,
    help="""Proposes, explains and checks rules for the files of unmodified programs.

The rules are in the table `place` of tailrace.toml. `tailrace run --config tailrace.toml` applies them; docs/placing.md describes
them.

Examples: [bold]tailrace place propose data[/] · [bold]tailrace place explain data/file1.00.0003[/] · [bold]tailrace place check[/]
""",
)

for _name in COMMANDS:
    group.command(_name)(importlib.import_module(f"tailrace.cli.place.{_name}").command)
