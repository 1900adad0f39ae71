"""tailrace drain: files leave node-local scratch for their target.

A command of the group is a module of this folder with a function `command`; its name is in the list below.
"""

from __future__ import annotations

import importlib

import typer

COMMANDS = ("copy", "status", "wait", "resume", "scavenge")  # in the order of --help

group = typer.Typer(
    no_args_is_help=True,
    help="""Carries files from node-local scratch to their target: checked, in large writes, and resumable. See docs/staging.md.

Examples: [bold]tailrace drain copy $TMPDIR/out results[/] · [bold]tailrace drain status $TMPDIR/out[/] ·
[bold]tailrace drain resume $TMPDIR/out[/]
""",
)

for _name in COMMANDS:
    group.command(_name, no_args_is_help=True)(importlib.import_module(f"tailrace.cli.drain.{_name}").command)
