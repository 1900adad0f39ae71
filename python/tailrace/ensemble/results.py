"""The results of an ensemble: one row a member, as CSV and Parquet; what failed, as text."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tailrace.ensemble.folder import Folder
from tailrace.ensemble.values import REASONS
from tailrace.journal import line_at
from tailrace.whole_file import replaced

ROWS_A_GROUP = 10_000
PARTS = ("stage", "run", "wait", "read", "keep")


def member_lines(folder: Folder) -> Iterator[dict[str, Any]]:
    """The lines of all members that have an outcome, in the members' order; one in memory at a time."""
    if not folder.finished:
        return
    with folder.journal.open("rb") as file:
        members = folder.heads[-1]["members"]  # 0 for those of calls, whose number is not known before
        for member in sorted(one for one in folder.finished if not members or one < members):
            yield line_at(file, folder.finished[member])


def columns_of(folder: Folder, results: tuple[str, ...]) -> list[str]:
    parameters = folder.heads[-1]["parameters"] if folder.heads else []
    return ["member", *parameters, *results, "reason", "message", "seconds", "attempts", "host"]


def row_of(line: Mapping[str, Any]) -> dict[str, Any]:
    facts = line.get("facts", {})
    about = {"reason": line["reason"], "message": line.get("message", ""), "seconds": sum(line.get("seconds", {}).values())}
    given = {**line.get("parameters", {}), **line.get("results", {})}
    return {"member": line["member"], **given, **about, "attempts": facts.get("attempts", 1), "host": facts.get("host", "")}


def write_csv(folder: Folder, results: tuple[str, ...], path: Path) -> None:
    """Written beside `path`, then renamed. A failed member has empty cells as results."""
    columns = columns_of(folder, results)
    with replaced(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
        writer.writeheader()
        for line in member_lines(folder):
            row = row_of(line)
            writer.writerow({**row, "seconds": f"{row['seconds']:.4f}", "message": " ".join(row["message"].split())})


def write_parquet(folder: Folder, results: tuple[str, ...], path: Path) -> None:
    """With the provenance as the file's metadata. Columns of results are numbers where all values are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = columns_of(folder, results)
    kinds = dict.fromkeys(columns, pa.float64())
    kinds |= {"member": pa.int64(), "reason": pa.string(), "message": pa.string(), "attempts": pa.int64(), "host": pa.string()}
    for line in member_lines(folder):
        for name, value in {**line.get("parameters", {}), **line.get("results", {})}.items():
            if isinstance(value, str) and name in kinds:
                kinds[name] = pa.string()
    metadata = {"tailrace": json.dumps(folder.heads)}
    schema = pa.schema([(name, kinds[name]) for name in columns], metadata=metadata)
    with replaced(path) as beside, pq.ParquetWriter(beside, schema) as writer:
        rows: list[dict[str, Any]] = []
        for line in member_lines(folder):
            rows.append(_typed(row_of(line), kinds))
            if len(rows) == ROWS_A_GROUP:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema))


def _typed(row: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Text where the column is text, numbers where it is of numbers."""
    found = {}
    for name, kind in kinds.items():
        value = row.get(name)
        if value is not None:
            found[name] = str(value) if str(kind) == "string" else float(value) if str(kind) == "double" else value
    return found


def summary(folder: Folder) -> dict[str, Any]:
    """Counts, seconds of each part of a member's life, failures by reason with an example. One pass, bounded memory."""
    reasons: Counter[str] = Counter()
    examples: dict[str, dict[str, Any]] = {}
    seconds: Counter[str] = Counter()
    for line in member_lines(folder):
        seconds.update(line.get("seconds", {}))
        if line["reason"]:
            reasons[line["reason"]] += 1
            examples.setdefault(line["reason"], line)
    members = folder.heads[-1]["members"] if folder.heads else 0
    failures = [
        {
            "reason": reason,
            "meaning": REASONS.get(reason, ""),
            "members": count,
            "example": {key: examples[reason].get(key, "") for key in ("member", "message", "log")},
        }
        for reason, count in reasons.most_common()
    ]
    done = len(folder.finished)
    counts = {"members": members, "good": done - len(folder.failed), "failed": len(folder.failed), "left": max(0, members - done)}
    return {**counts, "seconds": {name: seconds[name] for name in PARTS}, "failures": failures}
