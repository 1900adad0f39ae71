"""Arguments that several commands of `tailrace drain` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Scratch = Annotated[Path, typer.Argument(help="Folder on scratch that was given to `tailrace drain copy`.")]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for files that are open for writing.")]
