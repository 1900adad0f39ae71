"""How commands write: tables for people, JSON for machines, errors to standard error."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape  # also for the commands
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]


def console() -> Console:
    """Made anew each time, so that it writes to the sys.stdout of the moment; as wide as needed where there is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def fail(message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]error:[/] {escape(message)}")


def table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    made = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return made


def bytes_text(count: int) -> str:
    """4.2 MiB: two figures that matter, binary units."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB"


def count_text(count: int) -> str:
    return f"{count:,}".replace(",", " ")
