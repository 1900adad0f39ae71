"""The files and directories that findings name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from tailrace.quantities import count_text
from tailrace.trace.activity import NONE, Activity, Array
from tailrace.trace.file_groups import Users, file_groups

MOST_NAMED = 2  # most groups of files that a sentence names
OF_FIRST = 0.2  # a second group is named if it has at least this share of the seconds of the first one
MOST_IN_ONE = 0.5  # one directory is named if it has at least this share of the calls
MOST_BELOW = 0.75  # otherwise the deepest directory is named that has at least this share of the calls below it
JOURNALS = ("-journal", "-wal")
NO_USERS = Users(frozenset(), "named")


def files_of(activity: Activity, calls: Array, most: int) -> Sequence[str]:
    """The names of the files on which these calls took most time."""
    seconds = _seconds_by_file(activity, calls)
    chosen = np.argsort(-seconds, kind="stable")[:most]
    return [activity.files[k] for k in chosen.tolist() if seconds[k] > 0]


def files_text(activity: Activity, calls: Array) -> str:
    """For sentences: the files on which these calls took most time. Files whose names differ only in numbers form one group."""
    seconds = _seconds_by_file(activity, calls)
    by_name = {activity.files[k]: float(seconds[k]) for k in np.flatnonzero(seconds).tolist()}
    groups = file_groups(dict.fromkeys(by_name, NO_USERS))
    costs = [(sum(by_name[name] for name in group.files), group) for group in groups]
    costs.sort(key=lambda pair: -pair[0])
    named = [group for cost, group in costs[:MOST_NAMED] if cost >= OF_FIRST * costs[0][0]]
    texts = [f"{group.name} ({count_text(len(group.files))} files)" if len(group.files) > 1 else group.name for group in named]
    return " and ".join(texts) or "files whose names are not known"


def where_text(activity: Activity, calls: Array) -> str:
    """For sentences: "in DIRECTORY" where most of these calls were made, or "in N directories below DIRECTORY"."""
    directory = activity.directory[calls]
    known = directory != NONE
    counts = np.bincount(directory[known], activity.count[calls[known]], minlength=1)
    most = int(counts.argmax())
    if not known.any():
        return "in directories that are not known"
    if counts[most] >= MOST_IN_ONE * counts.sum():
        part = "" if np.count_nonzero(counts) == 1 else "most of them "
        return f"{part}in {activity.directory_names[most]}"
    by_name = {activity.directory_names[k]: float(counts[k]) for k in np.flatnonzero(counts).tolist()}
    above = _above_most(by_name)
    inside = sum(1 for name in by_name if f"{name}/".startswith(f"{above.rstrip('/')}/"))
    part = "" if inside == len(by_name) else "most of them "
    return f"{part}in {count_text(inside)} directories below {above}"


def _above_most(counts: Mapping[str, float]) -> str:
    """The deepest directory below which most of the counts are."""
    found = "/"
    while True:
        below: dict[str, float] = defaultdict(float)
        for name, count in counts.items():
            if name.startswith(found) and name != found:
                below[name[len(found) :].split("/", 1)[0]] += count
        part = max(below, key=lambda each: below[each], default="")
        if not part or below[part] < MOST_BELOW * sum(counts.values()):
            return found.rstrip("/") or "/"
        found = f"{found}{part}/"


def of_database(activity: Activity, calls: Array, line: str) -> tuple[str, ...]:
    """(`line`,) if these calls are on a journal of SQLite, whose name ends with one of JOURNALS; else ()."""
    return (line,) if any(name.endswith(JOURNALS) for name in files_of(activity, calls, 3)) else ()


def _seconds_by_file(activity: Activity, calls: Array) -> Array:
    files = activity.file[calls]
    known = files != NONE
    # A call of 0 seconds counts as 1e-12 s: otherwise its file would not be named.
    return np.bincount(files[known], np.maximum(activity.seconds[calls[known]], 1e-12), minlength=len(activity.files))
