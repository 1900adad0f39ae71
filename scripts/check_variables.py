"""Environment variables: every TAILRACE_ name that the product reads or sets is in src/environment/variables.def.

C and C++ take names from environment/variables.hpp: a TAILRACE_ text in a call of getenv is an error. In Python, each text that is
a whole TAILRACE_ name must be in the list, unless it is a constant of the public headers."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, sources

LIST = Path("src/environment/variables.def")
NAME = re.compile(r"TAILRACE_[A-Z][A-Z0-9_]*")
LISTED = re.compile(r"^TAILRACE_(?:VARIABLE|KEY_VARIABLE|FOREIGN_VARIABLE)\((\w+)", re.MULTILINE)
C_READS = re.compile(r'\b(?:secure_)?(?:getenv|setenv|unsetenv|putenv)\s*\(\s*"(TAILRACE_\w+)')
C_SOURCES = ("src/*.cpp", "src/*.hpp", "include/*.h", "include/*.hpp", "bindings/*.cpp", "bindings/*.hpp")
PYTHON_SOURCES = ("python/*.py", "bindings/*.py", "kernels/*.py", "bench/*.py", "scripts/*.py")
PUBLIC_HEADERS = ("include/*.h", "include/*.def", "bindings/*.in")


def listed_names() -> frozenset[str]:
    return frozenset(f"TAILRACE_{name}" for name in LISTED.findall((ROOT / LIST).read_text()))


def constants() -> frozenset[str]:
    return frozenset(name for path in sources(*PUBLIC_HEADERS) for name in NAME.findall((ROOT / path).read_text()))


def of_c(path: Path, text: str) -> Iterator[str]:
    for read in C_READS.finditer(text):
        line = text.count("\n", 0, read.start()) + 1
        yield f"{path}:{line}: {read.group(1)} as text: take it from environment/variables.hpp, which is made from {LIST}"


def of_python(path: Path, text: str, names: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not NAME.fullmatch(node.value):
            continue
        if node.value not in names:
            yield f"{path}:{node.lineno}: {node.value} is not in {LIST}: add a line there, with its reader, meaning and default"


def main() -> int:
    problems = [problem for path in sources(*C_SOURCES) for problem in of_c(path, (ROOT / path).read_text())]
    known = listed_names() | constants()
    problems += [problem for path in sources(*PYTHON_SOURCES) for problem in of_python(path, (ROOT / path).read_text(), known)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
