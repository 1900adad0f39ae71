"""Data is written in small calls, each of which costs more than its bytes."""

from __future__ import annotations

from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.findings.small import small_transfers
from tailrace.trace.activity import Activity

NAME, TITLE = "small_writes", "Data is written in small pieces"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    return small_transfers(activity, ("write", "pwrite", "writev", "pwritev"), "write")
