"""One clock for all hosts of a run. Each host's CLOCK_MONOTONIC has a zero of its own; every log says once what it and the time of
day were at the same moment, and that places its host."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Clock:
    begin_real_ns: int  # of the run, since 1970
    zero_real_ns: Mapping[str, int]  # by host: the time of day when its CLOCK_MONOTONIC was 0

    def since_begin(self, host: str, times_ns: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Times of a host's CLOCK_MONOTONIC as ns since the run's beginning. What damage has made of a time is a wrong time."""
        shift = (self.zero_real_ns[host] - self.begin_real_ns) % 2**64
        return (times_ns.astype(np.uint64) + np.uint64(shift)).view(np.int64)


def clock_of(headers: Iterable[Mapping[str, Any]]) -> Clock:
    """Of the logs of one run. Processes of one host are placed together, by the median of what they say: else they would lie
    apart by the time between two readings of clocks."""
    headers = list(headers)
    zeros: dict[str, list[int]] = {}
    for header in headers:
        zeros.setdefault(header["host"], []).append(header["begin_real_ns"] - header["begin_ns"])
    zero_real_ns = {host: statistics.median_low(found) for host, found in zeros.items()}
    begin = min((zero_real_ns[header["host"]] + header["begin_ns"] for header in headers), default=0)
    return Clock(begin, zero_real_ns)
