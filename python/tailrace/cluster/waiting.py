"""Waiting for something on another node, by asking again and again."""

from __future__ import annotations

import time
from collections.abc import Callable

from tailrace.cluster.values import ClusterError


def wait_until(missing: Callable[[], str], limit_s: float, pause_s: float = 0.05) -> None:
    """Calls `missing` until it returns "". After `limit_s` raises ClusterError with the text that `missing` returned last."""
    deadline = time.monotonic() + limit_s
    while what := missing():
        if time.monotonic() > deadline:
            raise ClusterError(f"after {limit_s:g} s: {what.strip()}")
        time.sleep(pause_s)
