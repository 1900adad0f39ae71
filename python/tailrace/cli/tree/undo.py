"""tailrace tree undo: moves the files of a tree back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.place.choices import DEFAULT_CONFIG, Config, reported_errors, rules_and_mapping
from tailrace.cli.tree.outcome import print_outcome
from tailrace.place.compiled import compiled
from tailrace.place.files import folders_of
from tailrace.place.tree import TreeError, recorded_rules, undo


def command(
    folder: Annotated[Path, typer.Argument(help="The directory whose files are moved back.")],
    config: Config = DEFAULT_CONFIG,
    as_json: output.AsJson = False,
) -> None:
    """Moves the files of a tree back to their own names. Uses the rules that the tree was made with, else those of --config.

    The exit status is 1 if a name has two files, or the tree has files that no rule put there. These files stay where they are.

    Examples: [bold]tailrace tree undo data[/] · [bold]tailrace tree undo data --config tailrace.toml[/]
    """
    with reported_errors(as_json):
        try:
            top = str(folder.resolve(strict=True))
            if recorded_rules(top) is not None:
                outcomes = {top: undo(top)}
            else:
                rules, mapping = rules_and_mapping(config)
                outcomes = {name: undo(name, compiled(rules)) for name in folders_of(rules, mapping, folder)}
        except TreeError as error:
            output.fail(str(error), as_json)
            raise typer.Exit(2) from None
    print_outcome(outcomes, "moved back", as_json)
