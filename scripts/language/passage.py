"""The values that are read from a file: passages of text, each with its path and line, and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Passage:
    """A paragraph of a page, a comment, or a message; its lines are joined."""

    path: Path
    line: int
    kind: str  # "page", "comment" or "message"
    text: str  # code between backquotes is left as it is


@dataclass(frozen=True)
class Name:
    path: Path
    line: int  # of its first use in the file
    text: str


@dataclass
class Content:
    passages: list[Passage] = field(default_factory=list)
    names: dict[str, Name] = field(default_factory=dict)

    def add_name(self, path: Path, line: int, text: str) -> None:
        self.names.setdefault(text, Name(path, line, text))


def is_message(text: str) -> bool:
    """Whether a string literal is a text for people: it has at least three words of letters."""
    return sum(word.strip("'\"(),.:;").isalpha() for word in text.split()) >= 3
