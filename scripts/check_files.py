"""One concept a file: no source over 500 lines, none of the names that say nothing; no line over 132 columns; all of it text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, sources

MAX_LINES = 500
MAX_COLUMNS = 132  # Fortran's own limit
EMPTY_NAMES = {"utils", "util", "misc", "helper", "helpers", "common", "manager"}
SOURCES = ("*.c", "*.cpp", "*.h", "*.hpp", "*.def", "*.f90", "*.in", "*.py", "*.cmake", "*CMakeLists.txt", "*.sh", "Makefile")


BINARIES = {".png", ".xz"}  # pictures of the docs, and streams and logs of earlier commits (tests/data)


def binary(path: Path) -> Iterator[str]:
    """Yields a problem for a file that is no text: probably output of a program that was added by mistake."""
    if path.suffix not in BINARIES and b"\0" in (ROOT / path).read_bytes():
        yield f"{path}: is no text file: remove it from the repository, which must not have output of programs"


def problems_of(path: Path) -> Iterator[str]:
    lines = (ROOT / path).read_text(errors="replace").splitlines()
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines; at most {MAX_LINES}: move its second concept to another file"
    named = {word.lower() for part in path.with_suffix("").parts for word in part.replace("-", "_").split("_")}
    if named & EMPTY_NAMES:
        yield f"{path}: rename it: '{', '.join(sorted(named & EMPTY_NAMES))}' does not say what the file has"
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_COLUMNS:
            yield f"{path}:{number}: {len(line)} columns; at most {MAX_COLUMNS}"


def main() -> int:
    problems = [problem for path in sources(*SOURCES) for problem in problems_of(path)]
    problems += [problem for path in sources("*") for problem in binary(path)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
