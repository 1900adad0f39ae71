"""The classes of C++ and Python with their size: lines in all their files, data members, booleans and state enums.

Lines are those of the declaration and of the member functions defined outside of it, with the comments right above them.
Nested classes count by themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from language.cpp import parse, text_of

SPECIFIERS = ("class_specifier", "struct_specifier")
BOOLEAN = re.compile(r"^(?:mutable\s+|const\s+|volatile\s+)*(?:bool|std::atomic<bool>|std::atomic_bool|std::atomic_flag)$")
STATE = re.compile(r"(?:^|::)\w*State$")
CLASS_VARIABLE = re.compile(r"^(?:typing\.)?ClassVar\b")


@dataclass
class Class:
    name: str  # with the classes around it
    path: Path  # of its declaration
    line: int
    lines: int = 0
    members: list[str] = field(default_factory=list)
    booleans: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)  # members whose type is an enum *State


def declared_name(declarator: Node) -> str | None:
    """The name of a data member; None for functions."""
    node: Node | None = declarator
    while node is not None and node.type != "field_identifier":
        if node.type == "function_declarator":
            inner = node.child_by_field_name("declarator")
            # A pointer to a function is data: its name is within parentheses.
            if inner is None or inner.type != "parenthesized_declarator":
                return None
            node = inner
            continue
        node = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if "declarator" in child.type), None
        )
    return text_of(node) if node is not None else next(iter(re.findall(r"\w+", text_of(declarator))), None)


def add_member(found: Class, declaration: Node, enums: set[str]) -> None:
    words = [text_of(child) for child in declaration.children if child.type in ("storage_class_specifier", "type_qualifier")]
    kind = declaration.child_by_field_name("type")
    if "static" in words or kind is None:
        return
    for declarator in declaration.children_by_field_name("declarator"):
        name = declared_name(declarator)
        if name is None:
            continue
        found.members.append(name)
        if BOOLEAN.match(text_of(kind)):
            found.booleans.append(name)
        if STATE.search(text_of(kind)) or (text_of(kind) in enums and text_of(kind) == "State"):
            found.states.append(name)


def rows(node: Node) -> int:
    """Lines of a node with the comment right above it."""
    top = node.parent if node.parent is not None and node.parent.type == "template_declaration" else node
    first = top.start_point.row
    above = top.prev_sibling
    while above is not None and above.type == "comment" and above.end_point.row >= first - 1:
        first, above = above.start_point.row, above.prev_sibling
    return node.end_point.row + 1 - first


def scope_of(function: Node) -> str | None:
    """`A::B` of a member function A::B::f that is defined outside of its class."""
    node: Node | None = function.child_by_field_name("declarator")
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if "declarator" in child.type), None
        )
    name = node.child_by_field_name("declarator") if node is not None else None
    if name is None or name.type != "qualified_identifier":
        return None
    scopes = text_of(name).split("::")[:-1]
    return "::".join(re.sub(r"<.*", "", scope) for scope in scopes) or None


def walk(node: Node, around: tuple[str, ...], path: Path, found: list[Class], outside: list[tuple[str, Path, int]]) -> int:
    """Appends the classes below a node; the lines of those that are nested directly."""
    nested = 0
    for child in node.children:
        body = child.child_by_field_name("body") if child.type in SPECIFIERS else None
        if body is None:
            if child.type == "function_definition" and not around and (scope := scope_of(child)) is not None:
                outside.append((scope, path, rows(child)))
            nested += walk(child, around, path, found, outside)
            continue
        head = child.child_by_field_name("name")
        name = re.sub(r"<.*", "", text_of(head)) if head is not None else "(unnamed)"
        one = Class("::".join((*around, name)), path, child.start_point.row + 1)
        enums = {text_of(each) for enum in body.children for each in enum.children if enum.type == "enum_specifier"}
        for declaration in body.children:
            if declaration.type == "field_declaration":
                add_member(one, declaration, enums)
        found.append(one)
        own = rows(child)
        one.lines = own - walk(body, (*around, name), path, found, outside)
        nested += own
    return nested


def of_cpp(files: Iterable[tuple[Path, str]]) -> list[Class]:
    found: list[Class] = []
    outside: list[tuple[str, Path, int]] = []
    for path, source in files:
        walk(parse(source).root_node, (), path, found, outside)
    for scope, path, lines in outside:
        named = [one for one in found if one.name == scope or one.name.endswith(f"::{scope}") or scope.endswith(f"::{one.name}")]
        # Of several classes of one name, in different namespaces or test programs: that of the same file or folder.
        near = [one for one in named if one.path.with_suffix("") == path.with_suffix("")] or [
            one for one in named if one.path.parent == path.parent
        ]
        for one in (near or named)[:1]:
            one.lines += lines
    return found


def annotation_of(node: ast.AnnAssign) -> str:
    return ast.unparse(node.annotation)


def python_members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Data members of objects and their annotation, "bool" for what is set to True or False."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            kind = annotation_of(statement)
            yield from () if CLASS_VARIABLE.match(kind) else ((statement.target.id, kind),)
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for inner in ast.walk(statement):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target] if isinstance(inner, ast.AnnAssign) else []
            for target in targets:
                for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
                        value = getattr(inner, "value", None)
                        is_bool = isinstance(value, ast.Constant) and isinstance(value.value, bool)
                        yield each.attr, annotation_of(inner) if isinstance(inner, ast.AnnAssign) else "bool" if is_bool else ""


def of_python(path: Path, source: str) -> Iterator[Class]:
    def below(node: ast.AST, around: tuple[str, ...]) -> Iterator[Class]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.ClassDef):
                yield from below(child, around)
                continue
            one = Class(".".join((*around, child.name)), path, child.lineno)
            inner = list(below(child, (*around, child.name)))
            one.lines = (child.end_lineno or child.lineno) - child.lineno + 1 - sum(each.lines for each in inner)
            kinds: dict[str, str] = {}
            for name, kind in python_members(child):
                kinds[name] = kinds.get(name) or kind
            one.members = list(kinds)
            one.booleans = [name for name, kind in kinds.items() if re.fullmatch(r"bool(?: \| None)?", kind)]
            one.states = [name for name, kind in kinds.items() if STATE.search(kind)]
            yield one
            yield from inner

    return below(ast.parse(source), ())
