"""Fortran, and templates of it: comments, messages and names, line by line."""

from __future__ import annotations

import re
from pathlib import Path

from language import comments
from language.passage import Content, Passage, is_message

TOKEN = re.compile(r"'(?P<one>(?:[^'\n]|'')*)'|\"(?P<two>(?:[^\"\n]|\"\")*)\"|(?P<comment>!.*)|(?P<name>[A-Za-z]\w*)")


def read(path: Path, source: str) -> Content:
    content = Content()
    lines: list[comments.Line] = []
    for number, row in enumerate(source.split("\n"), start=1):
        for match in TOKEN.finditer(row):
            text = match.group("one") or match.group("two") or ""
            if match.group("comment"):
                lines += comments.lines_of(match.group("comment"), number, match.start(), not row[: match.start()].strip())
            elif match.group("name"):
                content.add_name(path, number, match.group("name"))
            elif is_message(text):
                content.passages.append(Passage(path, number, "message", text))
    content.passages += comments.join(path, lines)
    return content
