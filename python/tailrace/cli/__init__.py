"""The command `tailrace`. A command is a module of this folder with a function `command`, a group of commands one with a Typer
`group`; both are registered by their name below."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import tailrace
from tailrace.cli import output
from tailrace.cluster.values import ClusterError

# To add a command NAME: write NAME.py with `def command(...)`, or with `group = typer.Typer(...)`, and add it here, in the order of
# --help.
COMMANDS = (
    "demo",
    "study",
    "plan",
    "ls",
    "verify",
    "repair",
    "rewind",
    "adopt",
    "index",
    "combine",
    "convert",
    "check",
    "run",
    "trace",
    "coverage",
    "cluster",
    "keys",
    "resolve",
    "completion",
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"tailrace {tailrace.__version__}")
        raise typer.Exit


def _all_commands(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


def make_app(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands; only their modules are loaded."""
    app = typer.Typer(
        name="tailrace",
        help="Named distributed arrays to plain files, under a layout that is one line of configuration.",
        epilog="Exit status: 0, done; 1, looked, and it is not well; 2, an error, whose message says how to mend it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_all_commands)
    for name in names:
        module = importlib.import_module(f"tailrace.cli.{name}")
        if hasattr(module, "group"):
            app.add_typer(module.group, name=name)
        else:
            app.command(name, no_args_is_help=False, context_settings=getattr(module, "CONTEXT", None))(module.command)
    return app


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; the exit status is 0, 1 for "looked, and it is not well", or 2 for errors."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    asked = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    try:
        make_app(asked)(args=arguments, standalone_mode=True, prog_name="tailrace")  # however it was started
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except ClusterError as error:
        output.fail(str(error), as_json)
        return 2
    except tailrace.Error as error:
        output.fail(str(error), as_json, status=error.status)  # type: ignore[attr-defined]
        return 2
    except OSError as error:
        output.fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), as_json)
        return 2
    return 0
