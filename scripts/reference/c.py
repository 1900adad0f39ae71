"""docs/reference/c.md, from the comments and declarations of tailrace.h and its two lists."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sources import ROOT

from reference.text import fenced, markdown, page, table

PATH = Path("docs/reference/c.md")
INCLUDE = ROOT / "include" / "tailrace"
SECTION = re.compile(r"/\* -{4} (.*?) -+ \*/")


@dataclass
class Entry:
    """Declarations that stand together under one comment."""

    comment: str
    declarations: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [name_of(declaration) for declaration in self.declarations]


@dataclass
class Section:
    title: str
    entries: list[Entry] = field(default_factory=list)


def pages() -> Iterator[tuple[Path, str]]:
    intro, sections = parse((INCLUDE / "tailrace.h").read_text())
    links = links_to("")
    parts = [markdown(intro, links, "c")]
    for section in sections:
        parts.append(f"## {sentence(section.title)}")
        for entry in section.entries:
            parts += [f"### {entry.names[0]}", shown(entry), markdown(entry.comment, links, "c")]
    yield PATH, page("The C contract", "[tailrace.h](../../include/tailrace/tailrace.h)", *parts)


def links_to(page_name: str) -> dict[str, str]:
    """Where the page has each name of the contract; `page_name` is "" on the page itself."""
    _, sections = parse((INCLUDE / "tailrace.h").read_text())
    entries = [entry for section in sections for entry in section.entries]
    return {name: f"{page_name}#{entry.names[0].lower()}" for entry in entries for name in entry.names}


def parse(header: str) -> tuple[str, list[Section]]:
    """The comment at the beginning, and what is declared."""
    intro, _, rest = header.partition("*/")
    sections: list[Section] = []
    comment, entry = "", None
    lines = iter(rest.splitlines())
    for line in lines:
        if match := SECTION.match(line):
            sections.append(Section(match[1]))
        elif line.startswith("/*"):
            comment, entry = whole(line, lines, "*/"), None
        elif not line.strip():
            comment, entry = "", None
        elif line.startswith("#define TAILRACE_") and len(line.split()) > 2:
            declaration, _, trailing = line.partition(" /*")
            sections[-1].entries.append(Entry(sentence(text_of(trailing)) or text_of(comment), [declaration]))
        elif not line.startswith(("#", "extern", "}")):
            declaration = whole(line, lines, "}" if "{" in line else ";")
            if entry is None:
                entry = Entry(text_of(comment))
                sections[-1].entries.append(entry)
            entry.declarations.append(declaration)
    return text_of(intro), sections


def whole(line: str, lines: Iterator[str], end: str) -> str:
    """From this line to the first that has `end`, outside of a comment where it ends a declaration."""
    found = [line]
    while end not in (found[-1] if end == "*/" else re.sub(r"/\*.*?\*/", "", found[-1])):
        found.append(next(lines))
    return "\n".join(found)


def text_of(comment: str) -> str:
    lines = comment.replace("/*", "  ").replace("*/", "").splitlines()
    return textwrap.dedent("\n".join(re.sub(r"^ \*", "  ", line).rstrip() for line in lines)).strip("\n")


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def name_of(declaration: str) -> str:
    match = re.search(r"\A#define (\w+)|\(\*(\w+)\)|\} (\w+);\Z|\b(tailrace_\w+)(?:\(|;\Z)", declaration)
    if match is None:
        raise SystemExit(f"tailrace.h: no name in `{declaration}`; write it as the others or mend scripts/reference/c.py")
    return next(name for name in match.groups() if name)


def shown(entry: Entry) -> str:
    """The declarations; in place of an enumeration that is made from a list, the list."""
    text = "\n".join(entry.declarations)
    included = re.search(r"#include <tailrace/(\w+\.def)>", text)
    return table(*rows_of((INCLUDE / included[1]).read_text())) if included else fenced(text, "c")


def rows_of(text: str) -> tuple[list[str], list[list[str]]]:
    """The fields of a list, as its comment names them, and its lines."""
    macro, header = re.search(r"(TAILRACE_\w+)\(([^)]*)\)", text.partition("*/")[0]).groups()  # type: ignore[union-attr]
    found = re.findall(rf"^{macro}\((.*)\)$", text, re.MULTILINE)
    rows = [[field.strip().strip('"') for field in line.split(",")] for line in (header, *found)]
    return ["name", *rows[0][1:]], [[f"`TAILRACE_{name}`", *others] for name, *others in rows[1:]]
