"""Prints `tailrace --help` without importing Typer and the commands' modules, because importing them takes 0.5 s."""

from __future__ import annotations

import os
import sys
from textwrap import fill

from tailrace.cli.commands import ABOUT, COMMANDS, EXIT_STATUS

OPTIONS = {
    "-h, --help": "Show this text. After the name of a command: show the command's help.",
    "--version": "Show the version.",
    "--install-completion": "Install completion of commands, options and presets for this shell.",
    "--show-completion": "Print the script that --install-completion would install.",
}


def _width() -> int:
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal, or no file
        return 132


def _listed(entries: dict[str, str], width: int) -> list[str]:
    margin = 2 + max(map(len, entries)) + 2
    lines = []
    for name, text in entries.items():
        if width < margin + 24:  # one below the other
            lines += [f"  {name}", fill(text, max(width, 20), initial_indent="    ", subsequent_indent="    ")]
        else:
            lines.append(fill(text, width, initial_indent=f"  {name}".ljust(margin), subsequent_indent=" " * margin))
    return lines


def show() -> None:
    width = min(_width(), 132)
    paragraph = max(width, 20)
    lines = ["Usage: tailrace [OPTIONS] COMMAND [ARGUMENTS]", "", fill(ABOUT, paragraph), "", "Options:", *_listed(OPTIONS, width)]
    lines += ["", "Commands:", *_listed(COMMANDS, width), "", fill(EXIT_STATUS, paragraph)]
    print("\n".join(lines))
