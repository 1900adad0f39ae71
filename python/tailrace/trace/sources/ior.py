"""The output of IOR 3 and 4: its text, its JSON (-O summaryFormat=JSON) or its CSV (-O summaryFormat=CSV)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tailrace.json_text import parse_json
from tailrace.regular_file import open_regular, read_text
from tailrace.trace.log import LogError
from tailrace.trace.schema import empty, table_of
from tailrace.trace.source_figures import SourceFigures
from tailrace.trace.table_parts import TableParts

DESCRIPTION = "the output of IOR (text, JSON or CSV)"

Row = dict[str, object]
# Each value: its name in IOR's text and CSV, its name in IOR's JSON, the column, and the factor to the column's unit.
VALUES = (
    ("bw(MiB/s)", "bwMiB", "bandwidth_mib_s", 1.0),
    ("IOPS", "iops", "iops", 1.0),
    ("Latency", "latency", "latency_s", 1.0),
    ("block(KiB)", "blockKiB", "block_bytes", 1024.0),
    ("xfer(KiB)", "xferKiB", "transfer_bytes", 1024.0),
    ("open(s)", "openTime", "open_s", 1.0),
    ("wr/rd(s)", "wrRdTime", "move_s", 1.0),
    ("close(s)", "closeTime", "close_s", 1.0),
    ("total(s)", "totalTime", "total_s", 1.0),
)
OPTION = re.compile(r"^\s*([A-Za-z][A-Za-z ]*?)\s*[:=]\s*(.*)$")
SNIFFED_BYTES = 4096
NO_CALLS = {"calls": "a benchmark prints its results and no calls", "status": "the output does not have it"}


def accepts(path: Path) -> bool:
    if not path.is_file():
        return False
    with open_regular(path) as file:
        head = file.read(SNIFFED_BYTES).lstrip()
    is_json = head.startswith(b"{") and b'"Command line"' in head
    return head.startswith((b"IOR-", b"access,bw(MiB/s)")) or b"\nIOR-" in head or is_json


def read(path: Path) -> TableParts:
    """Raises LogError for an output without a result."""
    text = read_text(path, errors="replace").lstrip()
    reader = _of_json if text.startswith("{") else _of_csv if text.startswith("access,") else _of_text
    try:
        tables = empty(results=table_of("results", list(reader(text))))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, csv.Error) as error:
        raise LogError(f"{path}: damaged output of IOR ({error}); let IOR run to its end") from None
    if not tables["results"].num_rows:
        raise LogError(f"{path}: output of IOR without a result; let IOR run to its end")
    return TableParts(iter([tables]), 1, figures=SourceFigures(unknown=NO_CALLS))


def _of_text(text: str) -> Iterator[Row]:
    """The text has options as `name : value`, a heading, a line of dashes, then a line for each result."""
    about: dict[str, str] = {}
    heading: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["access", "bw(MiB/s)"]:
            heading = [word.removesuffix("(s)") if word == "Latency(s)" else word for word in words]
        elif heading and len(words) == len(heading) and words[0] in ("write", "read"):
            cells = dict(zip(heading, words, strict=True))
            yield {**_about(about), **_row(words[0], cells["iter"], {name: cells.get(name) for name, *_ in VALUES})}
        elif match := OPTION.match(line):
            about[match.group(1)] = match.group(2).strip()


def _of_csv(text: str) -> Iterator[Row]:
    for cells in csv.DictReader(text.splitlines()):
        if None in cells.values():  # the last line of an unfinished output
            return
        values = {name: cells[name] for name, *_ in VALUES if name in cells}
        yield {**_about({"tasks": cells["numTasks"]}), **_row(cells["access"], cells["iter"], values)}


def _of_json(text: str) -> Iterator[Row]:
    """Some versions store the results in the test, others in its options."""
    for test in parse_json(text)["tests"]:
        options = test.get("Options", {})
        about = {**test.get("Parameters", {}), **options}
        iterations: Counter[str] = Counter()
        for result in _flat(test.get("Results", options.get("Results", []))):
            operation = result["access"]
            iteration = result.get("iter", iterations[operation])
            iterations[operation] += 1
            values = {name: result.get(in_json) for name, in_json, *_ in VALUES}
            yield {**_about(about), **_row(operation, iteration, values)}


def _flat(results: Any) -> Iterator[dict[str, Any]]:
    for result in results:
        if isinstance(result, list):
            yield from _flat(result)
        else:
            yield result


def _about(options: Mapping[str, Any]) -> Row:
    tasks = options.get("tasks", options.get("numTasks", options.get("clients")))
    return {
        "benchmark": "IOR",
        "interface": options.get("api"),
        "file": options.get("test filename", options.get("testFileName")),
        "tasks": None if tasks is None else int(str(tasks).split()[0]),
    }


def _row(operation: str, iteration: Any, values: Mapping[str, Any]) -> Row:
    row: Row = {"operation": operation, "iteration": int(iteration)}
    for name, _, ours, factor in VALUES:
        number = _number(values.get(name))
        if number is not None:
            row[ours] = round(number * factor) if ours.endswith("_bytes") else number * factor
    return row


def _number(cell: Any) -> float | None:
    """IOR writes dashes or NA for a value that it did not measure."""
    return None if cell is None or str(cell).strip() in ("-", "NA", "") else float(cell)
