"""One clock for all hosts of a run. CLOCK_MONOTONIC of each host has its own zero. Each log has one moment as CLOCK_MONOTONIC and
as time of day, and this aligns its host with the others."""

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
        """Times of a host's CLOCK_MONOTONIC as ns since the run's beginning. A damaged time gives a wrong time and no error."""
        shift = (self.zero_real_ns[host] - self.begin_real_ns) % 2**64
        return (times_ns.astype(np.uint64) + np.uint64(shift)).view(np.int64)


def clock_of(headers: Iterable[Mapping[str, Any]]) -> Clock:
    """The clock of one run. All processes of a host get the median offset of their logs: with an offset each, they would be apart
    by the time between two clock readings."""
    headers = list(headers)
    zeros: dict[str, list[int]] = {}
    for header in headers:
        zeros.setdefault(header["host"], []).append(header["begin_real_ns"] - header["begin_ns"])
    zero_real_ns = {host: statistics.median_low(found) for host, found in zeros.items()}
    begin = min((zero_real_ns[header["host"]] + header["begin_ns"] for header in headers), default=0)
    return Clock(begin, zero_real_ns)
