"""`make docs`: writes the generated pages of docs/, and checks that code blocks of all pages parse.

With --check nothing is written: a page that would change is an error."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import man_pages
import tailrace
from reference import c, cpp, fortran, python, tables
from sources import ROOT, sources
from tailrace.cli import keys

BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def key_page() -> Iterator[tuple[Path, str]]:
    yield Path("docs/keys.md"), keys.page(tailrace.keys()) + "\n"


# Functions that yield the path and text of generated pages. To add a kind of page, add its function here.
GENERATORS = (key_page, c.pages, cpp.pages, fortran.pages, python.pages, tables.pages, man_pages.pages)
# Folders that have only generated pages.
FOLDERS = ("docs/man", "docs/reference")


def problems_of(path: Path) -> Iterator[str]:
    text = (ROOT / path).read_text()
    for match in BLOCK.finditer(text):
        language, code = match.group(2), textwrap.dedent(match.group(3))
        line = text.count("\n", 0, match.start(3))
        try:
            if language == "python":
                ast.parse(code)
            elif language == "toml":
                tomllib.loads(code)
        except (SyntaxError, tomllib.TOMLDecodeError) as error:
            yield f"{path}:{line}: this {language} block does not parse: {error}"


def generate(check: bool) -> Iterator[str]:
    made = {path: text for generator in GENERATORS for path, text in generator()}
    for path, text in made.items():
        if (ROOT / path).exists() and (ROOT / path).read_text() == text:
            continue
        if check:
            yield f"{path}: differs from what its sources give: run `make docs`"
            continue
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
        print(f"wrote {path}")
    for path in sources(*(f"{folder}/*" for folder in FOLDERS)):
        if path not in made:
            yield f"{path}: no generator makes this page: remove it"


def main() -> int:
    check = "--check" in sys.argv[1:]
    problems = [*generate(check), *(problem for path in sources("*.md") for problem in problems_of(path))]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
