"""Ranks of one node move data at the same time, and together they are slower than few of them."""

from __future__ import annotations

import numpy as np

from tailrace.findings.estimates import FEW
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.findings.price import Pricing
from tailrace.trace.activity import Activity

NAME, TITLE = "node_contention", "Ranks of a node hinder each other"
LEAST_BYTES = 64 << 10
LOSS = 1.3  # how many times slower the whole node must be than with its best number of writing ranks


def find(activity: Activity, pricing: Pricing) -> Cause | None:
    """Groups large writes by the number of processes of the node that write when the call begins. The node's rate is the
    median rate of a call times that number."""
    calls = np.flatnonzero(activity.in_group("write") & activity.of_user_data & (activity.result >= LEAST_BYTES))
    hosts = {host: k for k, host in enumerate({process.host for process in activity.processes})}
    host = np.array([hosts[process.host] for process in activity.processes], int)[activity.process[calls]]
    at_once = np.zeros(len(calls), np.int64)
    for each in range(len(hosts)):
        rows = np.flatnonzero(host == each)
        begins, ends = activity.begin[calls[rows]], activity.end[calls[rows]]
        at_once[rows] = np.searchsorted(np.sort(begins), begins, "right") - np.searchsorted(np.sort(ends), begins, "right")
    rates = {}
    for count in np.unique(at_once[at_once > 0]).tolist():
        rows = at_once == count
        if rows.sum() >= FEW:
            rates[count] = count * float(np.median(activity.result[calls[rows]] / np.maximum(activity.seconds[calls[rows]], 1e-9)))
    if len(rates) < 2:
        return None  # nothing to compare with
    best = max(rates, key=lambda count: rates[count])
    slow = {count: rate for count, rate in rates.items() if count > best and rates[best] > LOSS * rate}
    chosen = np.isin(at_once, list(slow))
    if not chosen.any():
        return None
    found = calls[chosen]
    part = np.array([1 - slow[count] / rates[best] for count in at_once[chosen].tolist()])
    worst = min(slow, key=lambda count: slow[count])
    return Cause(
        found,
        activity.seconds[found] * part,
        f"with {worst} processes of a node that write at once, the node writes {slow[worst] / 2**20:.0f} MiB/s; with {best}, "
        f"{rates[best] / 2**20:.0f} MiB/s; most in {files_text(activity, found)}",
        "time of each write, if the node as a whole were as fast as with the best number of writers",
        f"let {best} of the ranks of a node write for the others",
        ("layout = 'node'  # [stream.NAME], where Tailrace's library writes: one rank of each node writes",),
    )
