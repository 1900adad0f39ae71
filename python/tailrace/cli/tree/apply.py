"""tailrace tree apply: moves files into the tree of their rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.place.choices import DEFAULT_CONFIG, Config, reported_errors, rules_and_mapping
from tailrace.cli.tree.outcome import print_outcome
from tailrace.place.compiled import compiled
from tailrace.place.files import folders_of
from tailrace.place.tree import Outcome, TreeError, apply


def command(
    folder: Annotated[
        Path | None, typer.Argument(help="Only this directory and those below it. Default: all directories of the rules.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
    as_json: output.AsJson = False,
) -> None:
    """Moves files to where the rules put them. No data is copied. After a stop or a kill, the same command continues.

    While it runs, no program may use the directory without the rules. The exit status is 1 if a name has two files.

    Examples: [bold]tailrace tree apply[/] · [bold]tailrace tree apply data --config tailrace.toml[/]
    """
    with reported_errors(as_json):
        rules, mapping = rules_and_mapping(config)
        outcomes: dict[str, Outcome] = {}
        try:
            for name in folders_of(rules, mapping, folder):
                outcomes[name] = apply(compiled(rules), name)
        except TreeError as error:
            output.fail(str(error), as_json)
            raise typer.Exit(2) from None
    print_outcome(outcomes, "moved into trees", as_json)
