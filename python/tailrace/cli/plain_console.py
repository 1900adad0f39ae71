"""The one way to a terminal: consoles and tables that let no control character of a text through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.markup
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from tailrace.plain_text import plain, plain_lines


class PlainConsole(Console):
    """What rich itself sends (colours, a progress bar) reaches the terminal; control characters of the text become escapes."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain_lines(segment.text))


class PlainTable(Table):
    """A cell is one line."""

    def add_row(self, *cells: RenderableType | None, **settings: Any) -> None:
        super().add_row(*(plain(cell) if isinstance(cell, str) else cell for cell in cells), **settings)


def escape(text: str) -> str:
    """Text of others within markup: one line, and no markup of its own."""
    return rich.markup.escape(plain(text))
