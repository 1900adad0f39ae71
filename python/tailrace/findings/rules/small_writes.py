"""Data is written in small calls, each of which costs more than its bytes."""

from __future__ import annotations

from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.small import IN_PYTHON, LARGER_BUFFER, small_transfers
from tailrace.trace.activity import Activity

NAME, TITLE = "small_writes", "Data is written in small pieces"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    return small_transfers(
        activity,
        ("write", "pwrite", "writev", "pwritev"),
        "write",
        "collect data in memory and write at least 1 MiB at a time; in C and Fortran a larger buffer does it",
        (*LARGER_BUFFER, IN_PYTHON),
    )
