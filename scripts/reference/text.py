"""Comments of the sources as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

# Words of programs in running text: of the package, called, dereferenced, or with an underscore; not what stands in quotes.
WORD = re.compile(r"(?<![\"'\w])(?:tailrace(?:\.\w+)+|[A-Za-z]\w*\(\)|\*\w+|(?=[\w<>]*_)[A-Za-z_](?:\w|<\w+>)*)")


def markdown(comment: str, links: Mapping[str, str], language: str = "") -> str:
    """Running text, in which names of `links` lead there; what is indented is code, or a list of terms."""
    parts = []
    for indented, lines in groupby(_numbered(comment), key=lambda line: line[0]):
        text = "\n".join(line for _, line in lines)
        if not indented:
            parts += [running(paragraph, links) for paragraph in re.split(r"\n\s*\n", text.strip("\n")) if paragraph.strip()]
        elif terms := _terms(textwrap.dedent(text)):
            parts.append("\n".join(f"- {term}: {running(meaning, links)}" for term, meaning in terms))
        elif text.strip():
            parts.append(fenced(textwrap.dedent(text).strip("\n"), language))
    return "\n\n".join(parts)


def _numbered(comment: str) -> Iterator[tuple[bool, str]]:
    """Each line, and whether it is indented, or Python that opens a block; an empty one is as the line before it."""
    indented = False
    for line in textwrap.dedent(comment).splitlines():
        indented = re.match(r" |(?:with|for|if|def) .*:$", line) is not None if line.strip() else indented
        yield indented, line


def _terms(text: str) -> list[tuple[str, str]]:
    """Terms in one column and what they mean in a second one; nothing where this is not so."""
    items = re.split(r"\n(?=\S)", text.strip("\n"))
    first = re.match(r"\w+ {2,}", items[0])
    width = len(first[0]) if first else 0
    if not first or not all(re.fullmatch(r"\w+ +", item[:width]) for item in items):
        return []
    return [(item[:width].strip(), " ".join(item[width:].split())) for item in items]


def running(text: str, links: Mapping[str, str]) -> str:
    """With names as code, and signs that Markdown would take for its own as they are."""

    def shown(match: re.Match[str]) -> str:
        if match[2]:
            return f"[{match[0]}](../{match[2]})"
        name = match[1] or match[3]
        return code(name, links) if name else "&lt;" if match[0] == "<" else f"\\{match[0]}"

    return re.sub(rf"`([^`]+)`|docs/(\w+\.md)|({WORD.pattern})|[*\[<]", shown, text)


def code(text: str, links: Mapping[str, str]) -> str:
    target = links.get(text.removesuffix("()"))
    return f"[`{text}`]({target})" if target else f"`{text}`"


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(title: str, made_from: str, *parts: str) -> str:
    head = [f"# {title}", f"Made by `make docs` from {made_from}."]
    return "\n\n".join(part for part in [*head, *parts] if part) + "\n"
