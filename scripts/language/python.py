"""Python: comments, docstrings, messages and names, by its own tokenizer and syntax tree."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from language import comments
from language.passage import Content, Passage, is_message

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Strings of other languages: SQL, HTML, CSS, templates.
OTHER_LANGUAGE = re.compile(r"^\s*(?:<|\{%|\{\{|[.#]?[\w-]+\s*\{|(?:SELECT|WITH|CREATE|COPY|INSERT)\b)")
# Commands of a shell.
SHELL = re.compile(r"&&|\|\||\$\w|; (?:exec|do|setsid)\b|\bmkdir -p\b|^echo \d")
PARAGRAPH = re.compile(rf"\n\s*\n|\n(?=\s*(?:[-*]\s|\d+\.\s)|{comments.ENTRY})")


def docstring_of(node: ast.AST) -> ast.Constant | None:
    body = getattr(node, "body", None) if isinstance(node, DOCUMENTED) else None
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        return body[0].value
    return None


def paragraphs(path: Path, docstring: ast.Constant) -> Iterator[Passage]:
    """Of a docstring; paragraphs that are set in by four spaces or more are code and left out."""
    begin, line, indent, text = 0, docstring.lineno, docstring.col_offset, str(docstring.value)
    for end in [*PARAGRAPH.finditer(text), None]:
        part = text[begin : end.start() if end else len(text)]
        number = line + text.count("\n", 0, begin + len(part) - len(part.lstrip()))
        begin = end.end() if end else len(text)
        rows = part.split("\n")
        is_code = number > line and all(len(row) - len(row.lstrip()) >= indent + 4 for row in rows if row.strip())
        if part.strip() and not is_code:
            yield Passage(path, number, "comment", part.strip().removeprefix("- "))


def rendered(node: ast.expr, visited: set[int]) -> str | None:
    """A message as it is read: literals joined, one word for each value between them; None: no text in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        visited.add(id(node))
        return node.value
    if isinstance(node, ast.JoinedStr):
        visited.add(id(node))
        visited.update(id(child) for child in ast.walk(node))
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [rendered(side, visited) for side in (node.left, node.right)]
        return None if sides == [None, None] else "".join("X" if side is None else side for side in sides)
    return None


def messages(path: Path, tree: ast.Module) -> Iterator[Passage]:
    visited = {id(text) for node in ast.walk(tree) if (text := docstring_of(node))}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) or id(node) in visited:
            continue
        message = rendered(node, visited)
        if message is None or OTHER_LANGUAGE.match(message) or SHELL.search(message):
            continue
        for part in message.split("\n\n"):
            if is_message(part):
                yield Passage(path, node.lineno, "message", part)


def read(path: Path, source: str) -> Content:
    content = Content()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        text = docstring_of(node)
        if text is not None:
            content.passages += paragraphs(path, text)
    lines: list[comments.Line] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            lines += comments.lines_of(token.string, row, column, not token.line[:column].strip())
        elif token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            content.add_name(path, row, token.string)
    content.passages += comments.join(path, lines)
    content.passages += messages(path, tree)
    return content
