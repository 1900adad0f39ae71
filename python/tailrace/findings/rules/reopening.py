"""A process opens the same file again and again."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import NONE, Activity, Array, keys_of

NAME, TITLE = "reopening", "Files are opened again and again"
MANY = 20  # least number of times that a process opens the same file
LOOKS = ("fstat", "lseek", "fseek")  # what libraries call after an open, to know size and position
SEEK_SET = 0


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    opening = activity.in_group("open") | activity.is_call("MPI_File_open", "H5Fopen", "nc_open", "ncmpi_open")
    handles = activity.is_call("open", "fopen", "close", "fclose", "MPI_File_open", "MPI_File_close", "H5Fopen", "H5Fclose")
    handles |= activity.is_call("nc_open", "nc_close", "ncmpi_open", "ncmpi_close")
    own = activity.is_own & activity.of_user_data & (activity.result >= 0) & (activity.file != NONE)
    calls = np.flatnonzero(handles & own)
    if len(calls) == 0:
        return None
    key = keys_of(activity.process[calls], activity.file[calls])
    is_open = opening[calls]
    opens = np.bincount(key, is_open)
    _, first = np.unique(key, return_index=True)
    chosen = opens[key] >= MANY
    chosen[first] = False
    if not chosen.any():
        return None
    again = calls[chosen]
    most = int(opens.max())
    looks = _looks_after(activity, calls[chosen & is_open], own)
    all_calls = np.sort(np.concatenate((again, looks)))
    also = " and of asking for their size and position after it" if len(looks) else ""
    return Cause(
        all_calls,
        activity.seconds[all_calls],
        f"files are opened up to {most} times by one process; most often {files_text(activity, again)}",
        f"time of opening and closing these files{also}, without the first time",
        "keep the file open between steps; where others must see the data, flush instead of closing",
        confidence="high",
    )


def _looks_after(activity: Activity, opens: Array, own: Array) -> Array:
    """The calls LOOKS between one of `opens` and the next other call of the same process on the same file."""
    files = np.unique(activity.file[opens])
    rows = np.flatnonzero(own & np.isin(activity.file, files))
    key = keys_of(activity.process[rows], activity.file[rows])
    order = np.lexsort((activity.begin[rows], key))
    rows, key = rows[order], key[order]
    # A seek to a chosen byte is also needed where the file stays open.
    to_a_byte = activity.in_group("seek") & (activity.detail == SEEK_SET) & (activity.offset > 0)
    is_look = (activity.is_call(*LOOKS) & ~to_a_byte)[rows]
    # For each call: the last one of its process and file, up to itself, that is none of LOOKS.
    before = np.maximum.accumulate(np.where(is_look, NONE, np.arange(len(rows))))
    is_known = is_look & (before >= 0)
    is_known[is_known] = key[before[is_known]] == key[is_known]
    is_known[is_known] = np.isin(rows[before[is_known]], opens)
    return rows[is_known]
