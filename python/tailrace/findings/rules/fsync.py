"""Data is forced to the device while the run waits."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import files_text, of_database
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity, keys_of

NAME, TITLE = "fsync", "The run waits for the device"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    syncs = activity.is_call("fsync", "fdatasync", "sync_file_range", "msync", "sync") & (activity.result >= 0)
    calls = np.flatnonzero(syncs)
    if len(calls) == 0:
        return None
    order = np.argsort(-activity.begin[calls], kind="stable")
    key = keys_of(activity.process[calls], activity.file[calls])
    _, last = np.unique(key[order], return_index=True)
    is_last = np.zeros(len(calls), bool)
    is_last[order[last]] = True
    early = calls[~is_last]
    if len(early) == 0:
        return None
    return Cause(
        early,
        activity.seconds[early],
        f"{count_text(len(calls))} calls wait until data is on the device; most for {files_text(activity, calls)}",
        "time of these calls, without the last for each file",
        "synchronise at the end, or only after checkpoints that must survive a power cut",
        (
            "durability = 'close'  # [stream.NAME], where Tailrace's library writes: once, when a file is closed",
            *of_database(activity, calls, "BEGIN; ... COMMIT;  -- SQLite: many changes in one transaction"),
        ),
        "high",
    )
