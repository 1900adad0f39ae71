"""Text of others for a terminal: names of files, of streams and of programs may hold any character."""

from __future__ import annotations

import sys


def plain(text: str) -> str:
    """One line: control characters, which a terminal would obey, become escapes. So do marks that turn the direction of text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def plain_lines(text: str) -> str:
    """`plain` for a text of several lines: each line by itself."""
    return text if text.isprintable() else "\n".join(map(plain, text.split("\n")))


def say(text: str) -> None:
    """Prints a line to standard error. Control characters in it become escapes."""
    print(plain(text), file=sys.stderr)
