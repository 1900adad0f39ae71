"""C and C++: comments, messages and names, by tree-sitter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from language import comments
from language.passage import Content, Passage, is_message

CPP = Language(tree_sitter_cpp.language())
FOUND = Query(
    CPP,
    """(comment) @comment
    [(string_literal) (raw_string_literal)] @string
    [(identifier) (field_identifier) (type_identifier) (namespace_identifier)] @name""",
)
JOINED = frozenset(["concatenated_string", "binary_expression", "argument_list", "initializer_list", "parenthesized_expression"])
WHOLE = frozenset(["fail", "Error", "describe", "concat", "text_of", "warn"])  # calls whose arguments are one message


@cache
def parser() -> Parser:
    return Parser(CPP)


def parse(source: str) -> Tree:
    return parser().parse(source.encode())


def text_of(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def literal(node: Node) -> str:
    """What a string literal holds, its escaped line breaks as spaces."""
    parts = [text_of(child) for child in node.children if child.type in ("string_content", "raw_string_content", "escape_sequence")]
    return "".join("\n" if part == "\\n" else part.removeprefix("\\") for part in parts)


def rendered(node: Node, visited: set[int]) -> str:
    """A message as it is read: literals joined, one word for each value between them."""
    if node.type in ("string_literal", "raw_string_literal"):
        visited.add(node.id)
        return literal(node)
    if node.type == "conditional_expression":
        branch = node.child_by_field_name("consequence")
        return rendered(branch, visited) if branch else "X"
    if node.type in JOINED:
        return "".join(rendered(child, visited) for child in node.named_children if child.type != "comment")
    return "" if text_of(node).startswith("Status::") else "X"


def top_of(node: Node) -> Node:
    """The largest expression around a literal that becomes one message."""
    top = node
    while (parent := top.parent) is not None:
        called = parent.parent.child_by_field_name("function") if parent.parent is not None else None
        is_whole = parent.type == "argument_list" and called is not None and text_of(called).split("::")[-1] in WHOLE
        if parent.type not in ("concatenated_string", "binary_expression", "parenthesized_expression") and not is_whole:
            break
        top = parent
    return top


def messages(path: Path, strings: list[Node]) -> Iterator[Passage]:
    visited: set[int] = set()
    for node in strings:
        if node.id in visited:
            continue
        text = rendered(top_of(node), visited)
        visited.add(node.id)
        for part in text.split("\n"):
            if is_message(part):
                yield Passage(path, node.start_point.row + 1, "message", part)


def read(path: Path, source: str) -> Content:
    content = Content()
    captures = QueryCursor(FOUND).captures(parse(source).root_node)
    rows = source.split("\n")
    lines: list[comments.Line] = []
    for node in sorted(captures.get("comment", []), key=lambda node: node.start_byte):
        row, column = node.start_point
        alone = not rows[row].encode()[:column].strip()
        lines += comments.lines_of(text_of(node), row + 1, column, alone)
    content.passages += comments.join(path, lines)
    content.passages += messages(path, sorted(captures.get("string", []), key=lambda node: node.start_byte))
    for node in sorted(captures.get("name", []), key=lambda node: node.start_byte):
        content.add_name(path, node.start_point.row + 1, text_of(node))
    return content
