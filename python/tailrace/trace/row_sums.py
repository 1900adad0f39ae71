"""Sums of rows of a run: of Arrow tables, and of rows as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.trace.call_sums import ADDED

Row = dict[str, Any]


def added_rows(table: pa.Table, keys: list[str], names: Sequence[str] = ADDED) -> pa.Table:
    """Rows with the same keys as one. A sum is that of the known values; without any, it is not known."""
    known = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)
    wanted = [*((name, "sum", known) for name in names), ("most_ns", "max")]
    added = table.group_by(keys).aggregate(wanted)
    columns = {
        **{key: added[key] for key in keys},
        **{name: added[f"{name}_sum"] for name in names},
        "most_ns": added["most_ns_max"],
    }
    return pa.table(columns)


def joined_rows(rows: Mapping[Any, Row], key_of: Callable[[Any], Any]) -> dict[Any, Row]:
    """Rows under other keys; those with the same key are added, and those whose key is None are left out."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for key, row in rows.items():
        found[key_of(key)].append(row)
    return {key: sum_of(several) for key, several in found.items() if key is not None}


def sum_of(rows: Iterable[Row]) -> Row:
    total: Row = {}
    for row in rows:
        for name, value in row.items():
            before = total.get(name)
            if before is None or value is None:
                total[name] = value if before is None else before
            else:
                total[name] = max(before, value) if name == "most_ns" else before + value
    return total
