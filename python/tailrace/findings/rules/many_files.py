"""Many small files: opening, closing and synchronising them takes the time, and not their bytes."""

from __future__ import annotations

import numpy as np

from tailrace.findings.files import where_text
from tailrace.findings.finding import TRY_PLACING, Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import bytes_text, count_text
from tailrace.trace.activity import NONE, Activity

NAME, TITLE = "many_files", "Data is spread over many small files"
PLACING = "stage"
MANY, SMALL_BYTES = 200, 1 << 20
FILES_OF_ONE = 100  # so many small files become one


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    files = len(activity.files)
    is_file = (activity.file != NONE) & activity.of_user_data
    moves = activity.in_group("write", "stdio_write") & is_file & (activity.result > 0)
    written = np.bincount(activity.file[moves], activity.result[moves], minlength=files)
    created = np.zeros(files + 1, bool)
    created[activity.file[activity.is_create]] = True
    small = created & np.append((written > 0) & (written < SMALL_BYTES), False)
    if small.sum() < MANY:
        return None
    synced = activity.is_call("fsync", "fdatasync")
    calls = np.flatnonzero((activity.in_group("open", "close") | synced) & is_file & small[activity.file])
    is_synced = bool(synced[calls].any())
    mean = float(written[small[:-1]].mean())
    count = int(small.sum())
    ranks = (
        ("layout = 'collective'  # [stream.NAME], where Tailrace's library writes: one file of all ranks",)
        if len(activity.ranks) > 1
        else ()
    )
    forced = "to the device " if is_synced else ""
    return Cause(
        calls,
        activity.seconds[calls] * (1 - 1 / FILES_OF_ONE),
        f"{count_text(count)} files of {bytes_text(mean)} on average are made, written {forced}and closed, "
        f"{where_text(activity, calls)}",
        f"time of opening, closing and synchronising these files, if {FILES_OF_ONE} of them were one file",
        f"write several {'steps, or the data of several ranks,' if ranks else 'pieces or steps'} into one file",
        (
            f"{TRY_PLACING}on scratch first, then delivered"
            + (", so they are safe when the run ends, not before" if is_synced else ""),
            "stage.files = ['FOLDER/**']  # the same in tailrace.toml",
            *ranks,
            "steps = 'all'  # [stream.NAME], where Tailrace's library writes: one file for all steps",
        ),
    )
