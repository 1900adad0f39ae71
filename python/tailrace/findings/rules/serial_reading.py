"""One rank reads the data of all, such as a restart file, and the others wait for it."""

from __future__ import annotations

from tailrace.findings.alone import alone
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity

NAME, TITLE = "serial_reading", "One rank reads for all"


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    return alone(
        activity,
        pricing,
        ("read", "stdio_read"),
        "reads",
        "let each rank read its part of the file",
        ("tailrace_open_read(...)  // with the library: each rank gets its block",),
    )
