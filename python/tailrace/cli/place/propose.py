"""tailrace place propose: rules from a recorded run, or from a folder of names."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.place.choices import reported_errors
from tailrace.place.made_files import is_log_folder, lying_in, made_in_run
from tailrace.place.proposal import DEFAULT_LEAST, propose
from tailrace.place.rules import DEFAULT_MOST
from tailrace.plain_text import say
from tailrace.trace.log import LogError


def command(
    source: Annotated[
        Path, typer.Argument(metavar="LOG|DIR", help="Folder of a recorded run, or a folder with files of the program.")
    ],
    to: Annotated[Path | None, typer.Option("--output", help="Write the rules to this new file; without it: print them.")] = None,
    least: Annotated[
        int, typer.Option("--least", min=2, help="Propose rules for folders with at least this many files.")
    ] = DEFAULT_LEAST,
    most: Annotated[
        int, typer.Option("--most", min=2, max=2**32 - 1, help="Most entries of a directory in the proposed trees.")
    ] = DEFAULT_MOST,
    as_json: output.AsJson = False,
) -> None:
    """Proposes rules for folders that get many files, with the entries that each directory will have.

    The output is a tailrace.toml. Its folders are relative to the folder of --output, or to the working directory. The exit status
    is 1 if no rule is proposed.

    Examples: [bold]tailrace place propose tailrace-run-1 > tailrace.toml[/] · [bold]tailrace place propose data --least 100[/]
    """
    with reported_errors(as_json):
        try:
            paths, damaged = made_in_run(source) if is_log_folder(source) else (lying_in(source), [])
        except LogError as error:
            output.fail(str(error), as_json)
            raise typer.Exit(2) from None
        base = (to.parent if to else Path()).resolve()
        proposal = propose(paths, base, least, most)
        text = proposal.toml()
        if to and proposal.rules:
            with open(to, "x", encoding="utf-8") as file:
                file.write(text)
    for message in damaged:
        say(f"tailrace: {message}")
    if as_json:
        output.print_json(
            {
                "files": len(paths),
                "rules": [dataclasses.asdict(rule) for rule in proposal.rules],
                "left": [dataclasses.asdict(left) for left in proposal.left],
                "toml": text,
            }
        )
    else:
        for left in proposal.left:
            say(f"tailrace: {left.folder}: {left.names:,} files get no rule: {left.why}")
        if not proposal.rules:
            say(
                f"tailrace: {source}: no rules: of {len(paths):,} files no folder has {least:,} that are alike; "
                "--least sets this number"
            )
        elif to is None:
            print(text, end="")
    if not proposal.rules:
        raise typer.Exit(1)
