"""Darshan's counters as sums: reads, writes, metadata and syncs of each file, sizes and order of accesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.trace.layers import BUFFERED, LIBRARY, SYSTEM

Row = dict[str, Any]
LAYERS = {"POSIX": ("POSIX", SYSTEM), "STDIO": ("stdio", BUFFERED), "MPI-IO": ("MPI-IO", LIBRARY)}
READS = {
    "POSIX": ("POSIX_READS",),
    "STDIO": ("STDIO_READS",),
    "MPI-IO": ("MPIIO_INDEP_READS", "MPIIO_COLL_READS", "MPIIO_SPLIT_READS", "MPIIO_NB_READS"),
}
METADATA = {
    "POSIX": ("POSIX_OPENS", "POSIX_SEEKS", "POSIX_STATS", "POSIX_MMAPS"),
    "STDIO": ("STDIO_OPENS", "STDIO_SEEKS"),
    "MPI-IO": ("MPIIO_INDEP_OPENS", "MPIIO_COLL_OPENS"),
}
SYNCS = {"POSIX": ("POSIX_FSYNCS", "POSIX_FDSYNCS"), "STDIO": ("STDIO_FLUSHES",), "MPI-IO": ("MPIIO_SYNCS",)}
# The end of a counter's name, and the least and most bytes of the accesses that it counts.
K, M, G = 1 << 10, 1 << 20, 1 << 30
SIZES = (
    ("0_100", 0, 100),
    ("100_1K", 101, K),
    ("1K_10K", K + 1, 10 * K),
    ("10K_100K", 10 * K + 1, 100 * K),
    ("100K_1M", 100 * K + 1, M),
    ("1M_4M", M + 1, 4 * M),
    ("4M_10M", 4 * M + 1, 10 * M),
    ("10M_100M", 10 * M + 1, 100 * M),
    ("100M_1G", 100 * M + 1, G),
    ("1G_PLUS", G + 1, None),
)
UNKNOWN = {
    "status": "Darshan does not record how the program ended",
    "machine": "Darshan does not record it",
    "failures": "Darshan does not count failed calls",
    "self time of MPI-IO": "Darshan does not record which calls MPI-IO made; the I/O share is that of POSIX and stdio",
    "time of syncs": "Darshan adds it to the time of writes",
    "sizes and order of streams": "Darshan does not record them",
    "within MPI": "Darshan does not record which calls MPI made for itself",
}
NO_SEGMENTS = {"slowest": "the log has no segments: record with Darshan's extended tracing (DXT)"}
NO_HOSTS = {"hosts": "only Darshan's extended tracing (DXT) records them"}


def sums_of(record: Mapping[str, Any], module: str, file: str) -> Iterator[Row]:
    """Rows for the sums of a file. A record that Darshan reduced over all ranks has no log."""
    counts, times, prefix = record["counters"], record["fcounters"], module.replace("-", "")
    layer, moves = LAYERS[module]
    # A null time of syncs is in that of writes. Calls of POSIX and stdio make no calls that Darshan records.
    parts = (
        ("reads", "read", READS[module], "READ", moves),
        ("writes", "write", writes_of(module), "WRITE", moves),
        ("metadata", "metadata", METADATA[module], "META", ""),
        ("syncs", "sync", SYNCS[module], None, ""),
    )
    for name, kind, counters, timer, moved in parts:
        calls = count(counts, *counters)
        time_ns = _ns(times[f"{prefix}_F_{timer}_TIME"]) if timer else None
        if not calls and not time_ns:
            continue
        yield {
            **_about(record, module, file, name, kind, moved),
            "calls": calls,
            "failed": None,
            "read_bytes": count(counts, f"{prefix}_BYTES_READ") if kind == "read" else 0,
            "written_bytes": count(counts, f"{prefix}_BYTES_WRITTEN") if kind == "write" else 0,
            "time_ns": time_ns,
            "self_ns": None if layer == "MPI-IO" else time_ns,
            "most_ns": _ns(times[f"{prefix}_F_MAX_{timer}_TIME"]) if f"{prefix}_F_MAX_{timer}_TIME" in times else None,
        }


def sizes_of(record: Mapping[str, Any], module: str, file: str) -> Iterator[Row]:
    counts, prefix = record["counters"], module.replace("-", "")
    for name, kind in (("reads", "read"), ("writes", "write")):
        for suffix, least, most in SIZES:
            counter = f"{prefix}_SIZE_{kind.upper()}_{'AGG_' if module == 'MPI-IO' else ''}{suffix}"
            if number := count(counts, counter):
                about = _about(record, module, file, name, kind, LAYERS[module][1])
                yield {**about, "least_bytes": least, "most_bytes": most, "accesses": number}


def orders_of(record: Mapping[str, Any], module: str, file: str) -> Iterator[Row]:
    """POSIX alone has them. Darshan counts consecutive accesses among the sequential ones."""
    if module != "POSIX":
        return
    counts = record["counters"]
    for name, kind in (("reads", "read"), ("writes", "write")):
        every, sequential, consecutive = (count(counts, f"POSIX_{what}{name.upper()}") for what in ("", "SEQ_", "CONSEC_"))
        numbers = {
            "consecutive": consecutive,
            "strided or forward": sequential - consecutive,
            "first or backward": every - sequential,
        }
        for order, number in numbers.items():
            if number > 0:
                yield {**_about(record, module, file, name, kind, SYSTEM), "order": order, "accesses": number}


def writes_of(module: str) -> tuple[str, ...]:
    return tuple(counter.replace("READS", "WRITES") for counter in READS[module])


def count(counts: Mapping[str, Any], *counters: str) -> int:
    """Darshan stores -1 for a count that it did not make."""
    return sum(max(0, int(counts.get(counter, 0))) for counter in counters)


def _about(record: Mapping[str, Any], module: str, file: str, name: str, kind: str, moves: str) -> Row:
    log = int(record["rank"])
    layer = LAYERS[module][0]
    return {"log": None if log < 0 else log, "file": file, "call": f"{layer} {name}", "layer": layer, "kind": kind, "moves": moves}


def _ns(seconds: float) -> int:
    """Darshan stores -1 for a time that it did not measure."""
    return max(0, round(float(seconds) * 1e9))
