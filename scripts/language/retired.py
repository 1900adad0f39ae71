"""Reads the list of retired words (scripts/retired_words.toml), and finds them in passages and names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from language.passage import Content
from language.sentences import without_code

LIST = Path(__file__).resolve().parent.parent / "retired_words.toml"
WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
KINDS = {"comment": "comments", "message": "messages", "page": "pages"}
EVERYWHERE = ["comments", "messages", "pages"]


@dataclass(frozen=True)
class Retired:
    say: str
    word: re.Pattern[str] | None
    name: re.Pattern[str] | None
    file: re.Pattern[str] | None
    where: frozenset[str]
    below: tuple[str, ...]
    allowed: re.Pattern[str] | None

    def concerns(self, path: Path) -> bool:
        return not self.below or any(path.is_relative_to(folder) for folder in self.below)

    def in_text(self, text: str) -> Iterator[re.Match[str]]:
        if self.word is None:
            return
        kept = [match.span() for match in self.allowed.finditer(text)] if self.allowed else []
        for match in self.word.finditer(text):
            if not any(begin <= match.start() and match.end() <= end for begin, end in kept):
                yield match

    def is_name(self, name: str) -> bool:
        if self.name is not None and self.name.fullmatch(name):
            return True
        return "names" in self.where and any(self.in_text(" ".join(WORDS_OF_NAME.findall(name)).lower()))


def pattern(text: str | None, border: bool = False, flags: int = 0) -> re.Pattern[str] | None:
    return None if text is None else re.compile(rf"\b(?:{text})\b" if border else text, flags)


def read_list(path: Path = LIST) -> list[Retired]:
    return [
        Retired(
            entry["say"],
            pattern(entry.get("word"), border=True, flags=re.IGNORECASE),
            pattern(entry.get("name")),
            pattern(entry.get("file")),
            frozenset(entry.get("in", EVERYWHERE)),
            tuple(entry.get("below", ())),
            pattern(entry.get("except"), border=True, flags=re.IGNORECASE),
        )
        for entry in tomllib.loads(path.read_text())["retired"]
    ]


def problems(path: Path, content: Content, retired: list[Retired]) -> Iterator[tuple[int, str]]:
    """Yields the lines of a file that have a retired word, each with the text of the problem."""
    concerned = [entry for entry in retired if entry.concerns(path)]
    for entry in concerned:
        if entry.file is not None and path.suffix != ".md" and entry.file.fullmatch(path.name.split(".")[0]):
            yield 1, f"file name '{path.name}' is retired; say: {entry.say}"
        for passage in content.passages:
            if KINDS[passage.kind] not in entry.where:
                continue
            text = without_code(passage.text)
            for match in entry.in_text(" ".join(text.split())):
                yield passage.line, f"'{match.group()}' is retired; say: {entry.say}"
        for name in content.names.values():
            if entry.is_name(name.text):
                yield name.line, f"name '{name.text}' is retired; say: {entry.say}"
