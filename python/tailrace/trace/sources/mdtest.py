"""The text that mdtest prints (IOR 3 and 4): operations a second on files and directories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tailrace.trace.log import LogError
from tailrace.trace.schema import empty, table_of
from tailrace.trace.source_figures import SourceFigures
from tailrace.trace.sources.ior import NO_CALLS, SNIFFED_BYTES
from tailrace.trace.table_parts import TableParts

DESCRIPTION = "the output of mdtest (text)"

BEGIN = re.compile(r"mdtest-\S* was launched with (\d+) total task")
HEAD = re.compile(r"^SUMMARY (rate|time)\b")
RATE = re.compile(r"^\s*((?:Directory|File|Tree)\s+\w+)\s*:?\s+(\d[\d.]*)\s+(\d[\d.]*)\s+(\d[\d.]*)\s+(\d[\d.]*)\s*$")
COMMAND = re.compile(r"^Command line used:\s*(.*)$")
PATH = re.compile(r"^Path\s*:\s*(\S.*)$")
MOST_BYTES = 64 << 20


def accepts(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(rb"mdtest-\S* was launched with", file.read(SNIFFED_BYTES)) is not None


def read(path: Path) -> TableParts:
    """Raises LogError for an output without a result. The mean over the iterations is a result: mdtest does not print each."""
    if path.stat().st_size > MOST_BYTES:
        raise LogError(f"{path}: {path.stat().st_size} bytes are no output of mdtest")
    try:
        rows = list(_results(path.read_text(errors="replace").splitlines()))
    except ValueError as error:  # numbers of thousands of digits, or with two points
        raise LogError(f"{path}: damaged output of mdtest ({error}); let mdtest run to its end") from None
    if not rows:
        raise LogError(f"{path}: output of mdtest without a result; let mdtest run to its end")
    results = table_of("results", rows)
    return TableParts(iter([empty(results=results)]), 1, figures=SourceFigures(unknown=NO_CALLS))


def _results(lines: list[str]) -> Iterator[dict[str, object]]:
    about: dict[str, object] = {"benchmark": "mdtest", "interface": "POSIX"}
    unit, table = "", 0
    for line in lines:
        if match := BEGIN.search(line):
            about["tasks"] = min(int(match[1]), 2**31 - 1)
        elif match := COMMAND.match(line):
            words = match[1].replace("'", "").replace('"', "").split()
            about["interface"] = words[words.index("-a") + 1] if "-a" in words[:-1] else "POSIX"
        elif match := PATH.match(line):
            about["file"] = match[1].strip()
        elif match := HEAD.match(line):
            unit, table = match[1], table + 1
        elif unit == "rate" and (match := RATE.match(line)):
            yield {**about, "operation": " ".join(match[1].lower().split()), "iteration": table - 1, "iops": float(match[4])}
