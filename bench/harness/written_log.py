"""Writes a log byte for byte in the format of docs/trace-log.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tailrace.trace.log import CHUNK, EVENT, HEADER, MAGIC, NAME, VERSION, name_hash

HEADER_BYTES, CHUNK_BYTES, SLOT_BYTES = 16384, 65536, 64
SLOTS = CHUNK_BYTES // SLOT_BYTES - 1  # of a chunk, without its head
TEXT_AT = 18  # of a name, in its first slot
Slots = np.ndarray[Any, np.dtype[Any]]  # of EVENT


def write_slots(path: Path, slots: Slots, header: Slots, threads: int = 1) -> None:
    """Chunks of these slots behind the header, with a thread for each chunk in turn: 100, 101 ..."""
    chunks = np.zeros((-(-len(slots) // SLOTS), SLOTS + 1), EVENT)
    for number, chunk in enumerate(chunks):
        part = slots[number * SLOTS : (number + 1) * SLOTS]
        chunk[1 : 1 + len(part)] = part
    chunks["call"][:, 0] = CHUNK
    heads = chunks.view(np.uint32).reshape(len(chunks), CHUNK_BYTES // 4)
    heads[:, 2], heads[:, 3] = 100 + np.arange(len(chunks)) % threads, header["process"][0]
    with path.open("wb") as file:
        file.write(header.tobytes().ljust(HEADER_BYTES, b"\0"))
        file.write(chunks.tobytes())


def header_of(**fields: Any) -> Slots:
    """Fields that are not given are empty."""
    header = np.zeros(1, HEADER)
    known = {
        "magic": MAGIC,
        "version": VERSION,
        "header_bytes": HEADER_BYTES,
        "chunk_bytes": CHUNK_BYTES,
        "slot_bytes": SLOT_BYTES,
    }
    for key, value in {**known, **fields}.items():
        header[key] = value
    return header


def list_of(calls: Mapping[str, tuple[int, str]]) -> bytes:
    """The header's list of calls, from number and group of each."""
    return "".join(f"{name} {number} {group}\n" for name, (number, group) in calls.items()).encode()


def name_slots(text: bytes) -> Slots:
    """A name: its head, and its text through its slots."""
    slots = -(-(TEXT_AT + len(text)) // SLOT_BYTES)
    head = (
        name_hash(text).to_bytes(8, "little")
        + len(text).to_bytes(4, "little")
        + slots.to_bytes(4, "little")
        + NAME.to_bytes(2, "little")
    )
    return np.frombuffer((head + text).ljust(slots * SLOT_BYTES, b"\0"), EVENT)
