"""Many files are made in one directory, and each new one takes longer than the first ones did."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import smoothed
from tailrace.findings.finding import TRY_PLACING, Cause
from tailrace.findings.price import Pricing
from tailrace.quantities import count_text
from tailrace.trace.activity import Activity

NAME, TITLE = "create_storm", "Too many files are made in one directory"
PLACING = "tree"
MANY = 256  # least number of files made in a directory
FIRST = 128  # number of first files, with which the others are compared
GROWN = 1.5  # least ratio of the time of the last third of the files to that of the first ones


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    made = np.flatnonzero(activity.is_create)
    made = made[np.argsort(activity.begin[made], kind="stable")]
    chosen, saved, worst = [], [], (0.0, "", 0, 0.0, 0.0)
    for directory in np.unique(activity.directory[made]).tolist():
        creates = made[activity.directory[made] == directory]
        if len(creates) < MANY:
            continue
        times = smoothed(activity.seconds[creates], min(64, len(creates) // 8))
        first, last = float(np.median(times[:FIRST])), float(np.median(times[-len(times) // 3 :]))
        if last < GROWN * first:
            continue
        more = np.maximum(times - first, 0)
        chosen.append(creates)
        saved.append(np.minimum(more, activity.seconds[creates]))
        if more.sum() > worst[0]:
            worst = (float(more.sum()), activity.directory_names[directory], len(creates), first, last)
    if not chosen:
        return None
    _, name, count, first, last = worst
    return Cause(
        np.concatenate(chosen),
        np.concatenate(saved),
        f"{count_text(count)} files are made in {name}; the first took {1e6 * first:.0f} us each, the last {1e6 * last:.0f} us",
        "time of each create above that of the first 128 files of its directory",
        "spread the files over directories with a bounded number of entries, or write fewer files",
        (
            f"{TRY_PLACING}writes rules, and measures what they bring",
            "layout = 'hds'  # [stream.NAME], where Tailrace's library writes: at most 1000 entries in a directory",
        ),
        "high",
    )
