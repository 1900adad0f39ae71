"""docs/reference/cpp.md, from the comments and declarations of the facade's headers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from reference import c
from reference.text import fenced, markdown, page

PATH = Path("docs/reference/cpp.md")
HEADERS = ("tailrace.hpp", "reader.hpp", "block.hpp")
TOKEN = re.compile(
    r'\b(?:public|private|protected):|//[^\n]*|^#[^\n]*(?<=\\)\n[^\n]*|^#[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|.',
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Statement:
    comment: str
    declaration: str
    body: str | None = None  # what is in its braces

    @property
    def name(self) -> str:
        """What is declared: a function, a type, or else the last word before a value."""
        match = re.search(r"\b(?:class|struct|namespace|concept|using) (\w+)(?= :|\W*$| =)", self.declaration)
        match = match or re.search(r"(operator\W{1,2}|~?\w+)\(", self.declaration) or re.search(r"(\w+)(?: =|$)", self.declaration)
        if match is None:
            raise SystemExit(f"no name in `{self.declaration}`: write it as the others or mend scripts/reference/cpp.py")
        return match[1]

    @property
    def is_class(self) -> bool:
        return re.search(r"^(class|struct) ", self.declaration, re.MULTILINE) is not None

    @property
    def is_function(self) -> bool:
        outside = re.sub(r"\(.*\)", "", self.declaration, flags=re.DOTALL)
        return "(" in self.declaration and re.search(r"\b(using|concept) | = (?!delete|default)", outside) is None


def pages() -> Iterator[tuple[Path, str]]:
    texts = [(c.INCLUDE / header).read_text() for header in HEADERS]
    links = c.links_to("c.md")
    intro = "\n".join(line.removeprefix("//").removeprefix(" ") for line in texts[0].split("#ifndef")[0].splitlines())
    parts = [markdown(intro, links, "cpp")]
    for text in texts:
        for namespace in (found for found in statements(text) if found.name == "tailrace"):
            parts += [part for statement in statements(namespace.body or "") for part in entity(statement, links)]
    sources = ", ".join(f"[{header}](../../include/tailrace/{header})" for header in HEADERS)
    yield PATH, page("The C++ facade", sources, *parts)


def entity(statement: Statement, links: dict[str, str]) -> Iterator[str]:
    """What a header declares in its namespace: a section."""
    if statement.name == "detail":
        return
    yield f"## {statement.name}"
    if not statement.is_class:
        yield fenced(signature(statement), "cpp")
        yield markdown(statement.comment, links, "cpp")
        return
    members = list(public_members(statement))
    data = [f"    {member.declaration};" for member in members if not member.is_function]
    head = f"{signature(statement)} {{\n" + "\n".join(data) + "\n};" if data else f"{signature(statement)};"
    yield fenced(head, "cpp")
    yield markdown(statement.comment, links, "cpp")
    if any(member.declaration.endswith("= delete") for member in members):
        moved = any("&&other" in member.declaration.replace(" ", "") for member in members)
        yield "It is moved, not copied." if moved else "It is neither copied nor moved."
    functions = [member for member in members if member.is_function and not is_copy_or_move(member)]
    for name, group in groupby(functions, key=lambda member: member.name):
        overloads = list(group)
        yield f"### {'Constructor' if name == statement.name else name}"
        yield fenced("\n".join(signature(member) for member in overloads), "cpp")
        yield "\n\n".join(markdown(member.comment, links, "cpp") for member in overloads if member.comment)
        called = dict.fromkeys(call for member in overloads for call in re.findall(r"\b(tailrace_\w+)\(", member.body or ""))
        if called:
            yield "In C: " + ", ".join(f"[`{call}`]({links[call]})" for call in called) + "."


def is_copy_or_move(member: Statement) -> bool:
    return member.declaration.endswith("= delete") or "&&other" in member.declaration.replace(" ", "")


def public_members(of: Statement) -> Iterator[Statement]:
    public = "struct " in of.declaration
    for member in statements(of.body or ""):
        if member.declaration in ("public:", "private:", "protected:"):
            public = member.declaration == "public:"
        elif public:
            yield member


def signature(statement: Statement) -> str:
    """The declaration without what callers need not see: attributes, initialisers, values."""
    text = re.sub(r"\[\[\w+\]\] ", "", statement.declaration)
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and statement.is_function and sign == ":" and ":" not in (text[at - 1], text[at + 1 : at + 2]):
            text = text[:at].rstrip()
            break
    if not statement.is_function and not re.search(r"\busing ", text):
        text = re.sub(r" = .*", "", text, flags=re.DOTALL)
    text = re.sub(r" = default$", "", text).removeprefix("inline ")
    return text if statement.is_class else text + ";"


def statements(code: str) -> Iterator[Statement]:
    """Declarations and definitions one after another, each with the comment above it or at the end of its line."""
    comment: list[str] = []
    found: Statement | None = None
    text, end, depth = "", 0, 0
    tokens = TOKEN.finditer(code)
    for token in tokens:
        word = token[0]
        depth += (word == "(") - (word == ")")
        if word.startswith("//"):
            if found and "\n" not in code[end : token.start()]:
                found = replace(found, comment=found.comment or c.sentence(word[2:].strip()))
            elif not text.strip():
                comment.append(word[2:].removeprefix(" "))
        elif word in (";", "{", "public:", "private:", "protected:") and depth == 0:
            body, end = inside(tokens) if word == "{" else (None, token.end())
            if word.endswith(":"):
                text = word
            if found and text.strip():
                yield found
            found = Statement("\n".join(comment), dedented(text), body) if text.strip() else found
            text, comment = "", []
        elif not word.startswith("#"):
            if word == "\n" and not text.strip() and code[: token.start()].endswith("\n"):
                comment = []  # it stands alone
            text += word
    if found:
        yield found


def inside(tokens: Iterator[re.Match[str]]) -> tuple[str, int]:
    """The text up to the brace that closes the brace just read, and the position after the closing brace."""
    depth, text = 1, ""
    for token in tokens:
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            return text, token.end()
        text += token[0]
    raise SystemExit("a brace is not closed; mend scripts/reference/cpp.py")


def dedented(text: str) -> str:
    """The text without empty first lines, and without the indentation that all its lines share."""
    return textwrap.dedent(re.sub(r"\A\s*\n", "", text)).strip()
