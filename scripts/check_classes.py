"""Small classes: at most 300 lines in all their files, 15 data members, 2 booleans; more state than that is one state enum.

scripts/check_classes.py             what fails, without the classes that not_yet.toml lists
scripts/check_classes.py --all       what fails, with them
scripts/check_classes.py --largest   the 30 largest classes"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import not_yet
from language.classes import Class, of_cpp, of_python
from sources import ROOT, sources

MOST_LINES = 300
MOST_MEMBERS = 15
MOST_BOOLEANS = 2
MOST_STATES = 1
LARGEST = 30
FOLDERS = ("src", "include", "bindings")


def classes() -> list[Class]:
    cpp = sources(*(f"{folder}/*.{ending}" for folder in FOLDERS for ending in ("h", "hpp", "c", "cpp")))
    found = of_cpp((path, (ROOT / path).read_text(errors="replace")) for path in cpp)
    for path in sources("python/*.py", "bindings/*.py"):
        found += of_python(path, (ROOT / path).read_text())
    return found


def problems_of(one: Class) -> Iterator[str]:
    where = f"{one.path}:{one.line}: {one.name}"
    if one.lines > MOST_LINES:
        yield f"{where} has {one.lines} lines in all its files; at most {MOST_LINES}: move its second concept to another class"
    if len(one.members) > MOST_MEMBERS:
        yield f"{where} has {len(one.members)} data members; at most {MOST_MEMBERS}: make a class of those that belong together"
    if len(one.booleans) > MOST_BOOLEANS:
        names = ", ".join(one.booleans)
        yield f"{where} has {len(one.booleans)} booleans ({names}); at most {MOST_BOOLEANS}: make them one state enum"
    if len(one.states) > MOST_STATES:
        yield f"{where} has {len(one.states)} state enums ({', '.join(one.states)}); at most {MOST_STATES}"


def main() -> int:
    parser = argparse.ArgumentParser(description="At most 300 lines, 15 data members and 2 booleans a class.")
    parser.add_argument("--all", action="store_true", help="with the classes that not_yet.toml lists")
    parser.add_argument("--largest", action="store_true", help="print the largest classes")
    arguments = parser.parse_args()
    found = classes()
    if arguments.largest:
        for one in sorted(found, key=lambda one: -one.lines)[:LARGEST]:
            sizes = f"{one.lines:4} lines, {len(one.members):2} members, {len(one.booleans)} booleans"
            print(f"{sizes}: {one.name} ({one.path})")
        return 0
    failing = {one.name: list(problems_of(one)) for one in found if any(problems_of(one))}
    listed = [] if arguments.all else not_yet.entries("classes")
    not_yet.report_passing("classes", [name for name in listed if name not in failing])
    problems = [problem for name, texts in failing.items() if name not in listed for problem in texts]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
