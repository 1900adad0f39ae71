"""The command `tailrace`. A command is a module of this folder with a function `command`, a group of commands one with a Typer
`group`; both are registered by their name in `commands`. `tailrace run` and `tailrace --help` start without Typer and the other
commands' modules: see run_options and whole_help."""

from __future__ import annotations

import os
import sys

from tailrace.cli import run_options
from tailrace.cli.commands import COMMANDS  # noqa: F401  also for the documentation


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. Returns the exit status: 0, 1 when the command found a problem, or 2 for errors."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["run"] and (choices := run_options.parsed(arguments[1:])) is not None:
        from tailrace.cli.any_run import run

        return run(choices)
    if arguments in ([], ["-h"], ["--help"]) and "_TAILRACE_COMPLETE" not in os.environ:  # set by a shell that wants completions
        from tailrace.cli.whole_help import show

        show()
        return 0 if arguments else 2
    from tailrace.cli.app import answer

    return answer(arguments)
