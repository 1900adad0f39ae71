"""Processor seconds."""

from __future__ import annotations

import resource


def used_s() -> float:
    """Of this process, and of those below it that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
