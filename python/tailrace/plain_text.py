"""Text of others for a terminal: names of files, of streams and of programs may hold any character."""

from __future__ import annotations

import os
import sys


def plain(text: str) -> str:
    """One line: control characters, which a terminal would obey, become escapes. So do marks that turn the direction of text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def plain_lines(text: str) -> str:
    """`plain` for a text of several lines: each line by itself."""
    return text if text.isprintable() else "\n".join(map(plain, text.split("\n")))


_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}


def quoted(word: str | os.PathLike[str]) -> str:
    """A word of a command that a message names, so that a shell reads it as one word with these characters when the user copies
    it. What a terminal would obey becomes an escape in $'...', which bash, zsh and ksh know."""
    text = os.fspath(word)
    if not text.isprintable():
        return "$'" + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _octal(c)) for c in text) + "'"
    import shlex

    return shlex.quote(text)


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def say(text: str) -> None:
    """Prints a line to standard error. Control characters in it become escapes."""
    print(plain(text), file=sys.stderr)
