"""The results of an ensemble: one row a member, as CSV and Parquet; what failed, as text."""

from __future__ import annotations

import contextlib
import csv
import json
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.ensemble.folder import Folder
from tailrace.ensemble.values import REASONS
from tailrace.journal import line_at
from tailrace.whole_file import replaced

ROWS_A_GROUP = 1_000
HOST_BYTES = 64
NAMED_MEMBERS, MOST_MESSAGES = 12, 20  # of members whose fields differ
PARTS = ("stage", "run", "wait", "read", "gather", "keep")


def member_lines(folder: Folder) -> Iterator[dict[str, Any]]:
    """The lines of all members that have an outcome, in the members' order; one in memory at a time. A member whose fields differ
    from those of most has failed."""
    if not folder.finished:
        return
    majority = folder.majority()
    with folder.journal.open("rb") as file:
        wanted = line_at(file, folder.finished[majority.first])["fields"].get("signature", {}) if majority.differing else {}
        for member in folder.members_of_table():
            yield majority.judged(line_at(file, folder.finished[member]), wanted)


def columns_of(folder: Folder, results: tuple[str, ...]) -> list[str]:
    parameters = folder.heads[-1]["parameters"] if folder.heads else []
    return ["member", *parameters, *results, "reason", "message", "seconds", "attempts", "host"]


def row_of(line: Mapping[str, Any]) -> dict[str, Any]:
    facts = line.get("facts", {})
    about = {"reason": line["reason"], "message": line.get("message", ""), "seconds": sum(line.get("seconds", {}).values())}
    given = {**line.get("parameters", {}), **line.get("results", {})}
    return {"member": line["member"], **given, **about, "attempts": facts.get("attempts", 1), "host": facts.get("host", "")}


Taker = Callable[[dict[str, Any]], None]


def write_tables(folder: Folder, results: tuple[str, ...], *takers: Taker, without: Container[str] = ()) -> dict[str, Any]:
    """All tables of the folder, in one pass over the journal and in bounded memory. Returns the summary.

    Each of `takers` gets the line of every member. `without`: names of tables that are not written."""
    columns = columns_of(folder, results)
    kinds = kinds_of(folder, columns)
    found = Summary()
    with contextlib.ExitStack() as opened:
        to_csv = opened.enter_context(csv_table(columns, folder.out / "members.csv"))
        typed_tables = {"members.parquet": parquet_table, "members.nc": netcdf_table}
        of_typed = [
            opened.enter_context(table(kinds, folder, folder.out / name))
            for name, table in typed_tables.items()
            if name not in without
        ]
        for line in member_lines(folder):
            row = row_of(line)
            to_csv(row)
            typed = _typed(row, kinds)
            for add in of_typed:
                add(typed)
            found.add(line)
            for take in takers:
                take(line)
    return found.of(folder)


Row = Mapping[str, Any]


@contextlib.contextmanager
def csv_table(columns: Sequence[str], path: Path) -> Iterator[Callable[[Row], None]]:
    """Takes rows. Written beside `path`, then renamed. A failed member has empty cells as results."""
    with replaced(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)

        def add(row: Row) -> None:
            cells = {**row, "seconds": f"{row['seconds']:.4f}", "message": " ".join(row["message"].split())}
            writer.writerow([cells.get(name, "") for name in columns])

        yield add


def kinds_of(folder: Folder, columns: Sequence[str]) -> dict[str, str]:
    """Of each column: whole, number or text. Columns of parameters and results are numbers where all values are."""
    kinds = {name: "text" if name in folder.texts else "number" for name in columns}
    return kinds | {"member": "whole", "attempts": "whole", "reason": "text", "message": "text", "host": "text"}


@contextlib.contextmanager
def in_groups(write: Callable[[list[Row]], None]) -> Iterator[Callable[[Row], None]]:
    """Takes rows, and writes ROWS_A_GROUP of them at a time."""
    rows: list[Row] = []

    def add(row: Row) -> None:
        rows.append(row)
        if len(rows) == ROWS_A_GROUP:
            write(rows)
            rows.clear()

    yield add
    if rows:
        write(rows)


@contextlib.contextmanager
def parquet_table(kinds: Mapping[str, str], folder: Folder, path: Path) -> Iterator[Callable[[Row], None]]:
    """Takes rows. The file's metadata has the provenance."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"whole": pa.int64(), "number": pa.float64(), "text": pa.string()}
    metadata = {"tailrace": json.dumps(folder.heads)}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()], metadata=metadata)
    with (
        replaced(path) as beside,
        pq.ParquetWriter(beside, schema) as writer,
        in_groups(lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema))) as add,
    ):
        yield add


@contextlib.contextmanager
def netcdf_table(kinds: Mapping[str, str], folder: Folder, path: Path) -> Iterator[Callable[[Row], None]]:
    """Takes rows. A variable for each column along the dimension `member`; the file's attribute `ensemble` has the provenance."""
    import netCDF4
    import numpy as np

    types: dict[str, Any] = {"whole": "i8", "number": "f8", "text": str}
    names = {name: name.replace("/", "_") for name in kinds}
    with replaced(path) as beside, netCDF4.Dataset(beside, "w") as dataset:
        dataset.ensemble = json.dumps(folder.heads)
        dataset.createDimension("member", None)
        dataset.createDimension("host_letters", HOST_BYTES)
        for name, kind in kinds.items():
            if name == "host":  # HDF5 keeps a heap of texts without a fixed length in memory, and every member has a host
                dataset.createVariable("host", "S1", ("member", "host_letters"))._Encoding = "utf-8"
            else:
                dataset.createVariable(names[name], types[kind], ("member",), fill_value=np.nan if kind == "number" else None)
        written = 0

        def write(rows: list[Row]) -> None:
            nonlocal written
            for name, kind in kinds.items():
                absent = "" if kind == "text" else np.nan if kind == "number" else 0
                values = np.array([row.get(name, absent) for row in rows], object if kind == "text" else types[kind])
                if name == "host":
                    values = values.astype(f"U{HOST_BYTES}")
                elif kind == "text" and not any(values):
                    continue  # what is not written reads as ""
                dataset[names[name]][written : written + len(rows)] = values
            written += len(rows)

        with in_groups(write) as add:
            yield add


def _typed(row: Row, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Text where the column is text, numbers where it is of numbers."""
    found = {}
    for name, kind in kinds.items():
        value = row.get(name)
        if value is not None:
            found[name] = str(value) if kind == "text" else float(value) if kind == "number" else value
    return found


class Summary:
    """Sums over lines of a journal that are added one by one: members by outcome, seconds in each stage of a member's life,
    failures by reason, each with one example."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, dict[str, Any]] = {}
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.differing: dict[str, list[int]] = {}  # members whose fields differ from those of most, by message

    def add(self, line: dict[str, Any]) -> None:
        for name, value in line.get("seconds", {}).items():
            self.seconds[name] = self.seconds.get(name, 0.0) + value
        if line["reason"]:
            self.reasons[line["reason"]] += 1
            self.examples.setdefault(line["reason"], line)
        if line.get("differs") and (line["message"] in self.differing or len(self.differing) < MOST_MESSAGES):
            self.differing.setdefault(line["message"], []).append(line["member"])

    def of(self, folder: Folder) -> dict[str, Any]:
        members = folder.heads[-1]["members"] if folder.heads else 0
        failures = [
            {
                "reason": reason,
                "meaning": REASONS.get(reason, ""),
                "members": count,
                "example": {key: self.examples[reason].get(key, "") for key in ("member", "message", "log")},
            }
            for reason, count in self.reasons.most_common()
        ]
        differing = [
            {"message": text, "members": len(numbers), "first": numbers[:NAMED_MEMBERS]} for text, numbers in self.differing.items()
        ]
        done, failed = len(folder.finished), len(folder.failed) + len(folder.majority().differing)
        counts = {"members": members, "good": done - failed, "failed": failed, "left": max(0, members - done)}
        return {**counts, "seconds": {name: self.seconds[name] for name in PARTS}, "failures": failures, "differing": differing}


def summary(folder: Folder) -> dict[str, Any]:
    found = Summary()
    for line in member_lines(folder):
        found.add(line)
    return found.of(folder)
