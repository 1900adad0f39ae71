"""Messages between ranks and one that writes or reads for them: what they cost is not in the time of I/O."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.trace.activity import Activity

GATHERING = ("MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv")


def gathering(activity: Activity) -> tuple[float, Sequence[str]]:
    """The seconds that a rank spends on average in calls that bring data from all ranks to one, or from one to all; and their
    names, the longest first. Messages from one rank to another are not in a log."""
    rows = activity.is_call(*GATHERING, merged=True) & activity.is_outermost & np.isin(activity.process, activity.ranks)
    calls = np.flatnonzero(rows)
    if len(calls) == 0:
        return 0.0, ()
    by_call = np.bincount(activity.call[calls], activity.seconds[calls])
    names = [activity.calls[k].name for k in np.argsort(-by_call, kind="stable").tolist() if by_call[k] > 0]
    return float(by_call.sum()) / len(activity.ranks), names
