"""tailrace trace: reports of a recorded run, and exports.

A command of the group is a module of this folder with a function `command`; its name is in the list below. A command imports
pyarrow only when it is called, because that import takes longer than other commands run.
"""

from __future__ import annotations

import importlib

import typer

COMMANDS = ("show", "phases", "query", "export")  # in the order of --help

group = typer.Typer(
    no_args_is_help=True,
    help="""Shows what a run did to files, as `tailrace run` recorded it, and exports it as tables and traces for other tools.

Reads Darshan logs and the output of IOR, too. docs/trace-tables.md describes the tables.

Examples: [bold]tailrace trace show tailrace-run-1[/] · [bold]tailrace trace export tailrace-run-1 --to parquet[/]
""",
)

for _name in COMMANDS:
    group.command(_name)(importlib.import_module(f"tailrace.cli.trace.{_name}").command)
