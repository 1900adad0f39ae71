"""Commands that a message tells the user to copy: names of files in them are quoted for a shell.

An f-string in python/tailrace that has a command, such as `tailrace drain resume {quoted(folder)}`, puts each value behind the
command's name through tailrace.plain_text.quoted. Otherwise a folder with a space or a newline makes it another command."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, sources

QUOTING = "quoted"
VALUE = "\0"  # stands for a value within the text of an f-string
SHELL_COMMANDS = ("chmod", "cp", "kill", "lfs", "mv", "rm", "rmdir", "setfacl", "tar")
# The names of clusters, their nodes and faults have letters, digits and "-" alone (cluster/values.py). A cluster's first process
# imports nothing of the package.
WITHOUT_FILES = ("python/tailrace/cluster/", "python/tailrace/cli/cluster/")


def commands_of_tailrace() -> list[str]:
    table = ast.parse((ROOT / "python/tailrace/cli/commands.py").read_text())
    names = next(node.value for node in table.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMANDS")
    assert isinstance(names, ast.Dict)
    return [str(ast.literal_eval(key)) for key in names.keys if key is not None]


def pattern() -> re.Pattern[str]:
    """A command that has begun, and has not ended, where the text ends."""
    names = "|".join(re.escape(name) for name in commands_of_tailrace())
    shell = "|".join(SHELL_COMMANDS)
    return re.compile(rf"(?:^|[`( ])(?:tailrace (?:{names})|(?:{shell}) [^ `]*)[^`;)]*$|`(?:{shell}) [^`]*$")


def values_of(string: ast.JoinedStr) -> Iterator[tuple[str, ast.FormattedValue]]:
    """Each value of an f-string, and the text before it."""
    text = ""
    for part in string.values:
        if isinstance(part, ast.FormattedValue):
            yield text, part
            text += VALUE
        else:
            assert isinstance(part, ast.Constant)
            text += str(part.value)


def is_quoted(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == QUOTING


def problems_of(path: Path, source: str, command: re.Pattern[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, value in values_of(node):
            if command.search(before) and not is_quoted(value.value):
                shown = ast.unparse(value.value)
                yield f"{path}:{node.lineno}: `{before.split('`')[-1].replace(VALUE, '...')}{{{shown}}}`: write {QUOTING}({shown})"


def main() -> int:
    command = pattern()
    paths = [path for path in sources("python/tailrace/*.py") if not str(path).startswith(WITHOUT_FILES)]
    problems = [problem for path in paths for problem in problems_of(path, (ROOT / path).read_text(), command)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
