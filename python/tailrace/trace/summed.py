"""Calls of a log that are no events: those of merged records, and those that are only counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailrace.trace.log import Log

ROW = np.dtype(
    [
        ("call", "<u2"),
        ("descriptor", "<i4"),  # 0 where a counter has a file
        ("file", "<u8"),
        ("calls", "<u8"),
        ("bytes", "<u8"),  # requested; 0 where the calls are only counted
        ("moved", "<i8"),
        ("error", "<i8"),  # minus the errno with which all of them failed, or 0
    ]
)


def summed_calls(log: Log, until_ns: int | None = None) -> np.ndarray[Any, np.dtype[Any]]:
    """Rows of ROW. `until_ns`: without the merged records that begin later."""
    merged = log.merged if until_ns is None else log.merged[log.merged["begin_ns"] <= until_ns]
    rows = np.zeros(len(merged) + len(log.counters), ROW)
    of_merged, of_counters = rows[: len(merged)], rows[len(merged) :]
    for name in ROW.names or ():
        of_merged[name] = merged[name]
    of_counters["call"] = log.counters["counted_call"]
    of_counters["descriptor"] = np.where(log.counters["file"] == 0, -1, 0)
    for name in ("file", "calls"):
        of_counters[name] = log.counters[name]
    of_counters["moved"] = log.counters["bytes_read"] + log.counters["bytes_written"]
    return rows
