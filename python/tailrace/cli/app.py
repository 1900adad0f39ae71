"""The command line as an application of Typer: the options of all commands, and --help."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Annotated

import typer
import typer.rich_utils

import tailrace
from tailrace.cli import output
from tailrace.cli.commands import ABOUT, COMMANDS, EXIT_STATUS
from tailrace.cli.plain_console import PlainConsole
from tailrace.cluster.values import ClusterError
from tailrace.extras import extra_of, install_command
from tailrace.stage.drain import StageError


def _show_version(asked: bool) -> None:
    if asked:
        print(f"tailrace {tailrace.__version__}")
        raise typer.Exit


def _all_commands(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands. Imports only the modules of these commands."""
    app = typer.Typer(
        name="tailrace",
        help=ABOUT,
        epilog=EXIT_STATUS,
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


def _make_console_of_typer() -> None:
    """Makes Typer print by PlainConsole: its error messages quote the command line, which may have control characters."""
    typer.rich_utils.Console = PlainConsole  # type: ignore[misc,attr-defined]


def answer(arguments: list[str]) -> int:
    """Runs the command line, and prints a message for each error. Returns the exit status."""
    as_json = "--json" in arguments
    asked = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    _make_console_of_typer()
    try:
        make_app(asked)(args=arguments, standalone_mode=True, prog_name="tailrace")  # the name also with python -m
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except (ClusterError, StageError) as error:
        output.fail(str(error), as_json)
        return 2
    except tailrace.Error as error:
        output.fail(str(error), as_json, status=error.status)  # type: ignore[attr-defined]
        return 2
    except ModuleNotFoundError as error:
        package, command = (error.name or "").partition(".")[0], next(iter(arguments), "")
        if extra_of(package) is None:
            raise
        remedy = install_command(package, command)
        output.fail(f"this command needs the Python package {package}, which is not installed: {remedy}", as_json)
        return 2
    except OSError as error:
        output.fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), as_json)
        return 2
    return 0
