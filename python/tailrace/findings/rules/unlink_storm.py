"""Many files are removed one by one."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import files_text, of_database, where_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity

NAME, TITLE = "unlink_storm", "Files are removed one by one"
MANY = 200
AGAIN = 5  # mean number of removals of a file, from which the file counts as removed again and again


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    calls = np.flatnonzero(activity.is_call("unlink", "rmdir", merged=True) & activity.of_user_data & (activity.result >= 0))
    many = int(activity.count[calls].sum())
    if many < MANY:
        return None
    different = len(np.unique(activity.file[calls]))
    removes_repeatedly = many >= AGAIN * different
    what = f"{count_text(many)} files are removed, {where_text(activity, calls)}"
    remedy = "keep fewer and larger files, write over old ones instead of removing them, or remove them after the run"
    lines: tuple[str, ...] = ("keep = N  # [stream.NAME], where Tailrace's library writes: removes whole files of old steps",)
    if removes_repeatedly:
        files = f"{count_text(different)} files" if different > 1 else "one file"
        what = f"{count_text(many)} removals remove {files} again and again: {files_text(activity, calls)}"
        remedy, lines = "write over the file, or empty it, instead of removing it each time", ()
    return Cause(
        calls,
        activity.seconds[calls],
        what,
        "time of all these removals",
        remedy,
        lines + of_database(activity, calls, "PRAGMA journal_mode = TRUNCATE;  -- SQLite, or WAL"),
    )
