"""What the commands print about the files that they moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import typer

from tailrace.cli import output
from tailrace.place.tree import Outcome
from tailrace.plain_text import plain

MOST_NAMED = 20


def print_outcome(outcomes: Mapping[str, Outcome], done: str, as_json: bool) -> None:
    """Ends the command with status 1 where files were left."""
    left = [f"two files: {name}" for outcome in outcomes.values() for name in outcome.two_files]
    left += [f"not by a rule: {name}" for outcome in outcomes.values() for name in outcome.unknown]
    if as_json:
        output.print_json({"folders": {folder: asdict(outcome) for folder, outcome in outcomes.items()}})
    else:
        moved = sum(outcome.moved for outcome in outcomes.values())
        print(f"{moved:,} files {done}, in {len(outcomes)} directories")
        for text in left[:MOST_NAMED]:
            print(plain(text))
        if len(left) > MOST_NAMED:
            print(f"and {len(left) - MOST_NAMED:,} more; --json names all")
    if left:
        raise typer.Exit(1)
