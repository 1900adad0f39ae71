"""Logs of calls as tests need them, written byte for byte as docs/trace-log.md says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tailrace.trace.log import CHUNK, EVENT, HEADER, MAGIC, NAME, VERSION, name_hash

HEADER_BYTES, CHUNK_BYTES, SLOT_BYTES = 16384, 65536, 64
CALLS = {"open": (1, "open"), "read": (10, "read"), "pwrite": (21, "write"), "rename": (44, "meta"), "fwrite": (90, "stdio_write")}
CALLS |= {"MPI_Init": (400, "mpi"), "MPI_Barrier": (401, "collective"), "phase_begin": (500, "phase"), "phase_end": (501, "phase")}
TEXT_AT = 18  # of a name, in its first slot


def events_of(rows: list[dict[str, Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """`call` and the names of files as they are called; what is not given is none."""
    events = np.zeros(len(rows), EVENT)
    events["descriptor"], events["offset"] = -1, -1
    for event, row in zip(events, rows, strict=True):
        for key, value in row.items():
            event[key] = CALLS[value][0] if key == "call" else name_hash(value) if isinstance(value, bytes) else value
    return events


def write_log(path: Path, events: Any, names: list[bytes], threads: int = 1, **header: Any) -> None:
    """Events are dealt out to threads, chunk by chunk; `header` sets fields of the header."""
    slots = np.concatenate([*(_name(name) for name in names), events])
    of_chunk = CHUNK_BYTES // SLOT_BYTES - 1
    chunks = -(-len(slots) // of_chunk)
    data = np.zeros((chunks, of_chunk + 1), EVENT)
    for number, chunk in enumerate(data):
        part = slots[number * of_chunk : (number + 1) * of_chunk]
        chunk[1 : 1 + len(part)] = part
        chunk["call"][0] = CHUNK
        chunk.view(np.uint32).reshape(-1, 16)[0, 2:4] = (100 + number % threads, header.get("process", 1))
    path.write_bytes(header_of(**header).tobytes() + bytes(HEADER_BYTES - HEADER.itemsize) + data.tobytes())


def header_of(**fields: Any) -> np.ndarray[Any, np.dtype[Any]]:
    header = np.zeros(1, HEADER)
    known = {
        "magic": MAGIC,
        "version": VERSION,
        "header_bytes": HEADER_BYTES,
        "chunk_bytes": CHUNK_BYTES,
        "slot_bytes": SLOT_BYTES,
        "begin_ns": 1000,
        "begin_real_ns": 5000,
        "process": 1,
        "rank": -1,
        "ranks": -1,
        "host": b"n1",
        "program": b"/a.out",
        "calls": "".join(f"{name} {number} {group}\n" for name, (number, group) in CALLS.items()).encode(),
    }
    for key, value in {**known, **fields}.items():
        header[key] = value
    return header


def _name(text: bytes) -> np.ndarray[Any, np.dtype[Any]]:
    slots = -(-(TEXT_AT + len(text)) // SLOT_BYTES)
    raw = bytearray(slots * SLOT_BYTES)
    raw[0:8] = name_hash(text).to_bytes(8, "little")
    raw[8:16] = len(text).to_bytes(4, "little") + slots.to_bytes(4, "little")
    raw[16:18] = NAME.to_bytes(2, "little")
    raw[TEXT_AT : TEXT_AT + len(text)] = text
    return np.frombuffer(bytes(raw), EVENT)
