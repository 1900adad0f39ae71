"""The table of parameter values: a row for each member, from a CSV or Parquet file or from a sampler."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.ensemble.values import EnsembleError, ParameterSource, Value

Column = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class ParameterTable:
    columns: Mapping[str, Column]
    members: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def row(self, member: int) -> dict[str, Value]:
        return {name: column[member].item() if column.dtype != object else column[member] for name, column in self.columns.items()}


def load_parameters(source: ParameterSource, home: Path) -> ParameterTable:
    """Raises EnsembleError."""
    if source.file:
        path = home / source.file
        table = _parquet(path) if path.suffix == ".parquet" else _csv(path)
        if table.members == 0:
            raise EnsembleError(f"{path}: has no row: give a row for each member below its heading")
        return table
    if not source.sampler:
        return ParameterTable({}, source.members)
    unit = _unit_sample(source.sampler, source.members, len(source.ranges), source.seed)
    columns = {}
    for position, one in enumerate(source.ranges):
        at = unit[:, position]
        columns[one.name] = one.low * (one.high / one.low) ** at if one.scale == "log" else one.low + (one.high - one.low) * at
    return ParameterTable(columns, source.members)


def _unit_sample(sampler: str, members: int, dimensions: int, seed: int) -> Column:
    """Points in the unit cube. The same seed gives the same points."""
    if sampler == "random":
        return np.random.default_rng(seed).random((members, dimensions))
    from scipy.stats import qmc

    kind = qmc.LatinHypercube if sampler == "latin-hypercube" else qmc.Sobol
    return np.asarray(kind(d=dimensions, seed=seed).random(members))


def _rows(path: Path) -> Iterator[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield from (row for row in csv.reader(file, skipinitialspace=True) if row)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EnsembleError(f"{path}: {error}") from None


def _csv(path: Path) -> ParameterTable:
    """Read twice: first for the kinds of the columns, then for the values. No row is held as text."""
    rows = _rows(path)
    names = [name.strip() for name in next(rows, [])]
    _check_names(names, path)
    kinds, members = [0] * len(names), 0  # 0: whole numbers, 1: numbers, 2: text
    for row in rows:
        members += 1
        if len(row) != len(names):
            raise EnsembleError(f"{path}: row {members} has {len(row)} values, and the heading names {len(names)}")
        for position, text in enumerate(row):
            if kinds[position] < 2:
                kinds[position] = max(kinds[position], _kind(text))
    columns: list[Column] = [np.empty(members, (np.int64, np.float64, object)[kind]) for kind in kinds]
    for member, row in enumerate(_rows(path), start=-1):
        if member >= 0:
            for column, kind, text in zip(columns, kinds, row, strict=True):
                column[member] = text if kind == 2 else (int, float)[kind](text)
    return ParameterTable(dict(zip(names, columns, strict=True)), members)


def _kind(text: str) -> int:
    for kind, read in enumerate((int, float)):
        try:
            if abs(read(text)) < 2**63 or kind == 1:
                return kind
        except ValueError:
            continue
    return 2


def _parquet(path: Path) -> ParameterTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise EnsembleError(f"{path}: {error}") from None
    _check_names(table.column_names, path)
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    return ParameterTable(columns, table.num_rows)


def _check_names(names: Sequence[str], path: Path) -> None:
    if not names or not all(names):
        raise EnsembleError(f"{path}: its first row must name the parameters")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EnsembleError(f"{path}: names '{twice}' twice")
