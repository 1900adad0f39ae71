"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from tailrace.cluster.values import ClusterError


def wait_until(lacking: Callable[[], str], limit_s: float, pause_s: float = 0.05) -> None:
    """`lacking` says what is not yet so; "" is the end. ClusterError with its words when the time is over."""
    deadline = time.monotonic() + limit_s
    while what := lacking():
        if time.monotonic() > deadline:
            raise ClusterError(f"after {limit_s:g} s: {what.strip()}")
        time.sleep(pause_s)
