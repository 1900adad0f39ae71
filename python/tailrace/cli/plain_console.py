"""Consoles and tables that print no control character of a text. All output to a terminal goes through them."""

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
    """A table whose cells are one line each: line ends and control characters in them become escapes."""

    def add_row(self, *cells: RenderableType | None, **settings: Any) -> None:
        super().add_row(*(plain(cell) if isinstance(cell, str) else cell for cell in cells), **settings)


def escape(text: str) -> str:
    """Text of users and files that is put into rich's markup: on one line, with its own brackets escaped."""
    return rich.markup.escape(plain(text))
