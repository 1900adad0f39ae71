"""tailrace trace: what a recorded run did.

A command of the group is a module of this folder with a function `command`; it is registered by its name below. They load what
makes tables when they are called: it takes longer to load than other commands to run.
"""

from __future__ import annotations

import importlib

import typer

COMMANDS = ("show", "phases", "query", "export")  # in the order of --help

group = typer.Typer(
    no_args_is_help=True,
    help="""What a run that `tailrace run` has recorded did to files: shown, or as tables and traces for other tools.

Darshan logs and the output of IOR are taken as well. docs/trace-tables.md has the tables.

Examples: [bold]tailrace trace show tailrace-run-1[/] · [bold]tailrace trace export tailrace-run-1 --to parquet[/]
""",
)

for _name in COMMANDS:
    group.command(_name)(importlib.import_module(f"tailrace.cli.trace.{_name}").command)
