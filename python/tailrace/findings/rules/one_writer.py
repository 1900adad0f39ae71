"""One rank moves the data of all, and the others wait for it."""

from __future__ import annotations

from tailrace.findings.alone import alone
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity

NAME, TITLE = "one_writer", "One rank writes for all"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    return alone(
        activity,
        pricing,
        ("write", "stdio_write", "sync"),
        "writes",
        "let several ranks write",
        (
            "layout = 'collective'  # [stream.NAME], where Tailrace's library writes: a rank of each node writes",
            "layout = 'shared'  # all ranks write",
        ),
    )
