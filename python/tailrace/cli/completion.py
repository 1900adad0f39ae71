"""tailrace completion: prints the script with which a shell completes the words of `tailrace` commands."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script

from tailrace.cli import output


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(
    shell: Annotated[Shell, typer.Argument(help="The shell for which the script is printed.")],
    as_json: output.AsJson = False,
) -> None:
    """Prints the script with which a shell completes commands, options and presets.

    --install-completion writes it into the files of the shell that runs.

    Examples: [bold]source <(tailrace completion bash)[/] ·
    [bold]tailrace completion fish > ~/.config/fish/completions/tailrace.fish[/]
    """
    script = get_completion_script(prog_name="tailrace", complete_var="_TAILRACE_COMPLETE", shell=shell.value)
    if as_json:
        output.print_json({"shell": shell.value, "script": script})
    else:
        print(script)
