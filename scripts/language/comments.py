"""Comments joined to passages: lines below each other are one passage, until an empty line, an item of a list or a tag.

Lines that are indented by two spaces or more and are no item of a list are an example in code, and are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from language.passage import Passage

MARKER = re.compile(r"^\s*(?:///?<?|//!<?|/\*+!?<?|\*+/|\*(?=\s|$)|!>|!<|!|#+:?)?\s?")
# An entry of a list of words and their meanings: `status   every function returns ...`.
ENTRY = r"\s*\S{1,24}(?: \S{1,24}){0,2}\s{2,}\S"
TAGGED = r"[@\\](?:param|return|returns|throws|note|file|brief|retval)\b"
NEW = re.compile(rf"^(?:\s*(?:[-*•]\s|\d+[.)]\s|{TAGGED}|[A-Z]\w*:$)|\s{{2,}}[{{\[\"]|{ENTRY})")
CODE = re.compile(rf"^ {{2}}(?!{ENTRY})")
TAG = re.compile(r"[@\\](?:param(?:\[\w+\])?\s+\w+|returns?|throws|note|file|brief|retval\s+\w+)\s*")
NO_TEXT = re.compile(r"^\s*(?:SPDX-|namespace |clang-format|NOLINT|noqa|type: ignore|pragma|!/|mypy|ruff|-\*-)")


@dataclass(frozen=True)
class Line:
    """One line of a comment without its marker."""

    number: int
    column: int
    alone: bool  # the line has only the comment, no code
    text: str


def lines_of(comment: str, number: int, column: int, alone: bool) -> Iterator[Line]:
    """The lines of one comment as it stands in the source, a block comment of many lines too."""
    for offset, text in enumerate(comment.removesuffix("*/").split("\n")):
        yield Line(number + offset, column, alone or offset > 0, MARKER.sub("", text, count=1).rstrip())


def join(path: Path, lines: list[Line]) -> Iterator[Passage]:
    gathered: list[str] = []
    first, last, column = 0, -1, -1

    def passage() -> Iterator[Passage]:
        written = [text for text in gathered if text.strip()]
        if written and CODE.match(written[0]) and all(text.startswith("  ") for text in written):
            return  # an example in code
        text = TAG.sub("", "\n".join(gathered)).strip()
        if text and not NO_TEXT.match(text):
            yield Passage(path, first, "comment", text.removeprefix("- "))

    for line in lines:
        follows = line.number == last + 1 and line.alone and line.column == column
        if not follows or not line.text.strip() or NEW.match(line.text):
            yield from passage()
            gathered, first = [], line.number
        if not gathered:
            first = line.number
        gathered.append(line.text)
        last, column = line.number, line.column
    yield from passage()
