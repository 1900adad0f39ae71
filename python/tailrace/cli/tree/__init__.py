"""tailrace tree: moves the files of existing directories into trees, and back.

A command of the group is a module of this folder with a function `command`; its name is in the list below.
"""

from __future__ import annotations

import importlib

import typer

COMMANDS = ("apply", "undo")  # in the order of --help

group = typer.Typer(
    no_args_is_help=True,
    help="""Moves the files of an existing directory into the tree of its rules, and back, by renames alone.

Examples: [bold]tailrace tree apply data[/] · [bold]tailrace tree undo data[/]
""",
)

for _name in COMMANDS:
    group.command(_name)(importlib.import_module(f"tailrace.cli.tree.{_name}").command)
