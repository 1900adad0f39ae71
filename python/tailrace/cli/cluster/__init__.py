"""tailrace cluster: one machine as several nodes with a real distributed file system.

A command of the group is a module of this folder with a function `command`; it is registered by its name below.
"""

from __future__ import annotations

import importlib

import typer

# In the order of --help. The first words of `load` and `fault` come from the registries of tailrace.cluster.
COMMANDS = ("check", "up", "status", "run", "exec", "link", "disk", "fault", "undo", "load", "down")
MODULES = {"exec": "execute"}

group = typer.Typer(
    no_args_is_help=True,
    help="""One machine as a cluster: nodes with links, disks, a distributed file system and Slurm, for studies, teaching and tests.

Needs root on Linux. docs/cluster.md lists what such a cluster can show and what not.

Examples: [bold]tailrace cluster up --nodes 4[/] · [bold]tailrace cluster run --ranks 8 --spread ./a.out[/] ·
[bold]tailrace cluster exec n1 -- df /mnt/pfs[/] · [bold]tailrace cluster fault cut n2[/] · [bold]tailrace cluster down[/]
""",
)

for _name in COMMANDS:
    _options = {"ignore_unknown_options": True, "allow_interspersed_args": False} if _name in ("run", "exec") else {}
    _module = importlib.import_module(f"tailrace.cli.cluster.{MODULES.get(_name, _name)}")
    group.command(_name, context_settings=_options)(_module.command)
