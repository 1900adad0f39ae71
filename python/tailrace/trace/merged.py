"""Merged records: the sums of like calls of a thread, in place of their events (docs/trace-log.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

MERGED = 0xFFFC
MERGED_CHUNK = 2  # kind of chunk
BINS = 32

SUMS = np.dtype(
    [
        *((name, "<u8") for name in ("last_ns", "bytes")),
        ("moved", "<i8"),
        *((name, "<u8") for name in ("busy_ns", "least_size", "most_size")),
        *((name, "<u4") for name in ("least_ns", "most_ns")),
        *((name, "u1") for name in ("size_bin", "time_bin")),
        ("rest", "S6"),
    ]
)
MERGED_SLOTS = np.dtype(
    [
        *((name, "<u8") for name in ("begin_ns", "calls")),
        *((name, "<u2") for name in ("kind", "flags")),
        ("descriptor", "<i4"),
        *((name, "<u8") for name in ("file", "detail")),
        ("thread", "<u4"),
        *((name, "<u2") for name in ("call", "reserved")),
        ("error", "<i8"),
        ("rest", "S8"),
        ("sums", SUMS, 2),
        *((name, "<u4", BINS) for name in ("size_bins", "time_bins")),
    ]
)
RECORD = np.dtype(  # of like calls, with the true ones of both sums
    [
        *(
            (name, "<u8")
            for name in ("begin_ns", "last_ns", "calls", "file", "detail", "bytes", "busy_ns", "least_size", "most_size")
        ),
        *((name, "<i8") for name in ("moved", "error")),
        *((name, "<u4") for name in ("thread", "least_ns", "most_ns")),
        *((name, "<u2") for name in ("call", "flags")),
        ("descriptor", "<i4"),
        *((name, "<u4", BINS) for name in ("size_bins", "time_bins")),
    ]
)

Records = np.ndarray[Any, np.dtype[Any]]  # of RECORD


def records_of(chunks: Sequence[np.ndarray[Any, np.dtype[np.uint8]]]) -> Records:
    """The records in chunks of merged calls, in the order of their first calls."""
    found = [_whole(chunk) for chunk in chunks]
    records = np.concatenate(found) if found else np.empty(0, RECORD)
    return records[np.argsort(records["begin_ns"], kind="stable")]


def _whole(chunk: np.ndarray[Any, np.dtype[np.uint8]]) -> Records:
    slot = 64  # the head of the chunk
    count = (len(chunk) - slot) // MERGED_SLOTS.itemsize
    raw = chunk[slot : slot + count * MERGED_SLOTS.itemsize].view(MERGED_SLOTS)
    raw = raw[(raw["kind"] == MERGED) & (raw["calls"] > 0)]
    sums = raw["sums"][np.arange(len(raw)), raw["calls"] % 2]
    records = np.empty(len(raw), RECORD)
    for name in RECORD.names or ():
        records[name] = sums[name] if name in (SUMS.names or ()) else raw[name]
    for name in ("size", "time"):
        _add_last_call(records, f"{name}_bins", sums[f"{name}_bin"])
    return records


def _add_last_call(records: Records, bins: str, last: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    """A process that was killed between the change of the sums and that of the bins has one call less in these."""
    lacks = np.flatnonzero(records[bins].sum(axis=1, dtype=np.uint64) + 1 == records["calls"])
    records[bins][lacks, last[lacks] % BINS] += 1


def histogram_text(bins: Sequence[int]) -> str:
    """ "8:120 16:3": 120 values from 8 to 15, and 3 from 16 on. The first bin is 0 alone."""
    return " ".join(f"{1 << number - 1 if number else 0}:{count}" for number, count in enumerate(bins) if count)
