"""`make docs`: writes docs/keys.md from the one list of layout keys, and checks that code blocks of all pages parse.

With --check nothing is written: a page that would change is an error."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, sources

# Pages that a command of the program prints: a further generated page is one more line.
GENERATED = {Path("docs/keys.md"): ("keys", "--markdown")}
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


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


def generate(path: Path, arguments: tuple[str, ...], check: bool) -> Iterator[str]:
    command = [str(ROOT / "build" / "bin" / "tailrace"), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        yield f"{path}: {command[0]} is not built: run `make build`"
        return
    if done.returncode != 0:
        yield f"{path}: `tailrace {' '.join(arguments)}` failed:\n{done.stderr}"
    elif not (ROOT / path).exists() or (ROOT / path).read_text() != done.stdout:
        if check:
            yield f"{path}: not what `tailrace {' '.join(arguments)}` prints: run `make docs`"
        else:
            (ROOT / path).write_text(done.stdout)
            print(f"wrote {path}")


def main() -> int:
    check = "--check" in sys.argv[1:]
    problems = [problem for path, arguments in GENERATED.items() for problem in generate(path, arguments, check)]
    problems += [problem for path in sources("*.md") for problem in problems_of(path)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
