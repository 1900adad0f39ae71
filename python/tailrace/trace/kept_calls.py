"""The calls of a run, kept while its parts are read: they become the columns of an Activity."""

from __future__ import annotations

import errno
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tailrace.trace.activity import NONE, Activity, Array, Process, Recorded
from tailrace.trace.layers import CallName

# Columns and their types. Texts are numbers already: places in the lists of files and calls.
KINDS: Mapping[str, Any] = {
    "thread": np.uint32,
    "call": np.int32,
    "begin": np.float64,
    "end": np.float64,
    "self_s": np.float64,
    "file": np.int32,
    "offset": np.int64,
    "position": np.int64,
    "result": np.int64,
    "moved": np.int64,
    "flags": np.uint16,
    "detail": np.uint64,
    "count": np.int64,
}


class KeptCalls:
    """Keeps the calls of a run; those of one process are added at a time."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[dict[str, Array]]] = defaultdict(list)  # by the number of the log
        self._merges_from: dict[int, float] = {}

    def add(self, log: int, **columns: Array | int) -> None:
        """`columns`: those of KINDS. A plain number is the same in all rows."""
        rows = len(np.asarray(columns["begin"]))
        self._blocks[log].append({name: _column(columns[name], kind, rows) for name, kind in KINDS.items()})

    def note_merged_collective(self, log: int, begin: float) -> None:
        self._merges_from[log] = min(self._merges_from.get(log, math.inf), begin)

    def activity(
        self, processes: Sequence[Mapping[str, Any]], calls: Sequence[CallName], files: Sequence[str], counted_calls: int
    ) -> Activity:
        """Joins the kept calls into an Activity. Releases each block, because the columns of ten million calls are 0.8 GiB."""
        blocks = [_in_order(self._blocks.pop(row["log"], [])) for row in processes]
        lengths = [len(block["begin"]) for block in blocks]
        lasts = [float(block["end"].max()) if len(block["end"]) else 0.0 for block in blocks]
        made = [
            _process(row, last, self._merges_from.get(row["log"], math.inf)) for row, last in zip(processes, lasts, strict=True)
        ]
        columns = {name: _joined([block.pop(name) for block in blocks], kind) for name, kind in KINDS.items()}
        process = np.repeat(np.arange(len(made), dtype=np.int32), lengths)
        return Activity(Recorded(made, calls, files, counted_calls), process, **columns)


def error_number(name: str | None) -> int:
    return int(getattr(errno, name or "", 0))


def _column(value: Array | int, kind: Any, rows: int) -> Array:
    return value.astype(kind, copy=False) if isinstance(value, np.ndarray) else np.full(rows, value, kind)


def _joined(parts: Sequence[Array], kind: Any) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _in_order(blocks: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """By beginning, as one block."""
    joined = {name: _joined([block.pop(name) for block in blocks], kind) for name, kind in KINDS.items()}
    if (np.diff(joined["begin"]) >= 0).all():
        return joined
    order = np.argsort(joined["begin"], kind="stable")
    return {name: column[order] for name, column in joined.items()}


def _process(row: Mapping[str, Any], last: float, merges_from: float) -> Process:
    """A killed process ends with its last call."""
    return Process(
        row["host"] or "",
        row["process"],
        row["parent"] or 0,
        NONE if row["rank"] is None else row["rank"],
        row["program"] or "",
        (row["begin_ns"] or 0) / 1e9,
        last if row["end_ns"] is None else row["end_ns"] / 1e9,
        merges_from,
    )
