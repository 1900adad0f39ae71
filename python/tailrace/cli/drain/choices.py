"""Arguments that several commands of `tailrace drain` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Scratch = Annotated[Path, typer.Argument(help="Folder on scratch that was given to `tailrace drain copy`.")]
Log = Annotated[
    Path | None,
    typer.Option(
        "--log", help="Log folder of the run: a file that a killed process had open for writing is delivered as NAME.torn."
    ),
]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for files that are open for writing.")]
