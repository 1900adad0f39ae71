"""Lists the imports between modules of python/tailrace/, also those in functions and under TYPE_CHECKING. Finds circles in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "tailrace"
SOURCES = Path("python")
EXTENSION = "tailrace._core"


@dataclass(frozen=True)
class Import:
    module: str  # "tailrace.study.plan"; of a package's __init__.py the package's name
    line: int


@dataclass(frozen=True)
class Module:
    name: str
    path: Path  # within the repository
    is_package: bool

    @property
    def layer(self) -> str:
        """The package below tailrace that has it; "" for the flat modules of tailrace itself."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 2 or (len(parts) == 2 and self.is_package) else ""


def modules_in(root: Path) -> dict[str, Module]:
    found = {}
    for path in sorted((root / SOURCES / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root / SOURCES).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = Module(name, path.relative_to(root), is_package)
    return found


def imports_of(module: Module, text: str, known: Mapping[str, Module]) -> list[Import]:
    """The imports of other modules of the package, each once."""
    seen: dict[str, Import] = {}
    for node in ast.walk(ast.parse(text)):
        for name in _names(node, module, known):
            if name in known and name != module.name:
                seen.setdefault(name, Import(name, node.lineno))  # type: ignore[attr-defined]
    return list(seen.values())


def _names(node: ast.AST, module: Module, known: Mapping[str, Module]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = module.name.split(".")[: None if module.is_package else -1]
            package = package[: len(package) - node.level + 1]
            base = ".".join([*package, *([node.module] if node.module else [])])
        # `from package import module` imports the module (the extension is one, too); any other name, the package's own file.
        full = (f"{base}.{alias.name}" for alias in node.names)
        yield from (name if name in known or name == EXTENSION else base for name in full)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """For each group of nodes that reach each other, a shortest circle through its first node: [a, b, c], where c leads to a."""
    reach = {node: _reached(node, graph) for node in graph}
    found, done = [], set()
    for node in sorted(graph):
        if node in reach[node] and node not in done:
            done |= {other for other in reach[node] if node in reach[other]}
            found.append(_shortest(node, graph))
    return found


def _reached(node: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    ahead = [node]
    while ahead:
        fresh = graph.get(ahead.pop(), set()) - found
        found |= fresh
        ahead += fresh
    return found


def _shortest(start: str, graph: Mapping[str, set[str]]) -> list[str]:
    paths = [[start]]
    while True:
        longer = []
        for path in paths:
            for node in sorted(graph.get(path[-1], set())):
                if node == start:
                    return path
                if node not in path:
                    longer.append([*path, node])
        paths = longer
