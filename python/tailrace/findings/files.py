"""The files and directories that findings name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.trace.activity import NONE, Activity, Array


def files_of(activity: Activity, calls: Array, most: int) -> Sequence[str]:
    """The names of the files on which most of these calls were made."""
    files = activity.file[calls]
    known = files[files != NONE]
    if len(known) == 0:
        return []
    counts = np.bincount(known)
    chosen = np.argsort(-counts, kind="stable")[:most]
    return [activity.files[k] for k in chosen.tolist() if counts[k] > 0]


def files_text(activity: Activity, calls: Array) -> str:
    """For sentences: the two files on which most of these calls were made."""
    return ", ".join(files_of(activity, calls, 2))


def busiest_directory(activity: Activity, calls: Array) -> tuple[str, int]:
    """The directory in which most of these calls were made, and how many they were. The calls must have files."""
    directory = activity.directory[calls]
    counts = np.bincount(directory, activity.count[calls])
    most = int(counts.argmax())
    return activity.directory_names[most], int(counts[most])
