"""The paragraphs of a Markdown page: no code blocks, tables or headings; each item of a list is a paragraph."""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from language.passage import Content, Passage

PARSER = MarkdownIt("commonmark").enable("table")


def text_of(inline: Token) -> str:
    """The text that a reader sees: the words of links without their targets, and no images."""
    words: list[str] = []
    for token in inline.children or []:
        if token.type == "code_inline":
            words.append(f"`{token.content}`")
        elif token.type in ("softbreak", "hardbreak"):
            words.append("\n")
        elif token.type == "text":
            words.append(token.content)
    return "".join(words)


def read(path: Path, source: str) -> Content:
    content = Content()
    opened: list[str] = []
    for token in PARSER.parse(source):
        if token.type.endswith("_open"):
            opened.append(token.type)
        elif token.type.endswith("_close"):
            opened.pop()
        elif token.type == "inline" and not {"heading_open", "table_open"} & set(opened):
            line = token.map[0] + 1 if token.map else 1
            content.passages.append(Passage(path, line, "page", text_of(token)))
    return content
