"""Lists the files of the repository whose language is checked, each with its reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, sources

from language import cpp, fortran, markdown, python
from language.passage import Content

READERS = {
    ".md": markdown.read,
    ".c": cpp.read,
    ".h": cpp.read,
    ".cpp": cpp.read,
    ".hpp": cpp.read,
    ".def": cpp.read,
    ".py": python.read,
    ".f90": fortran.read,
    ".in": fortran.read,
}
PATTERNS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    *(
        f"{folder}/*.{ending}"
        for folder in ("src", "include", "bindings")
        for ending in ("c", "h", "cpp", "hpp", "def", "f90", "f90.in")
    ),
    "bindings/*.py",
    "python/*.py",
)


def files(below: list[str] | None = None) -> list[Path]:
    """The files whose language is checked. `below`: only these files, and files in these folders; empty: all."""
    found = sources(*PATTERNS)
    return [path for path in found if not below or any(path.is_relative_to(folder) for folder in below)]


def contents(paths: list[Path]) -> Iterator[tuple[Path, Content]]:
    for path in paths:
        yield path, READERS[path.suffix](path, (ROOT / path).read_text(errors="replace"))
