"""The sizes and the order of a process's accesses to its files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]

# Where an access begins, relative to the access before it of the same process, file and direction. Consecutive: where that one
# ended. Strided: after a gap, at the same distance as between the two accesses before. Forward: after any other gap. Backward:
# before the end of that one. Darshan's logs tell only the last two.
ORDERS = ("first", "consecutive", "strided", "forward", "backward", "strided or forward", "first or backward")

SIZES = pa.schema(
    [
        ("log", pa.int32()),
        ("file", pa.int32()),
        ("call", pa.int32()),
        ("least_bytes", pa.int64()),
        ("most_bytes", pa.int64()),  # null: no limit
        ("accesses", pa.int64()),
    ]
)
ORDER = pa.schema(
    [
        ("log", pa.int32()),
        ("file", pa.int32()),
        ("call", pa.int32()),
        ("order", pa.int8()),
        ("accesses", pa.int64()),
    ]
)


def bins_of(sizes: Array) -> Array:
    """The number of each size's bin: bin N has the sizes from 2^N to 2^(N+1) - 1."""
    _, exponents = np.frexp(np.maximum(sizes, 1).astype(np.float64))
    numbers = np.minimum(exponents.astype(np.int64) - 1, 62)
    rounded_up = (np.int64(1) << numbers) > np.maximum(sizes, 1)  # 2^53 and more are not exact as float64
    return np.asarray(numbers - rounded_up)


def positions_of(descriptor: Array, offset: Array, moved: Array, sets: Array, at: Array) -> tuple[Array, Array]:
    """The offset of each transfer, and whether it is known. A call without an offset (`read`) begins where the last call of its
    descriptor ended.

    The calls are in the order of their beginnings. `sets` is whether a call puts the descriptor at the position `at` (open, lseek);
    `at` is -1 where the position is not known (dup). `moved` is the bytes by which the descriptor is then
    further. Without a known position, offsets count from 0: they can be compared with others of the same descriptor only."""
    order = np.argsort(descriptor, kind="stable")
    ends = np.cumsum(moved[order])
    begins = ends - moved[order]
    first = np.ones(len(order), bool)
    first[1:] = descriptor[order][1:] != descriptor[order][:-1]
    base = np.maximum.accumulate(np.where(sets[order] | first, np.arange(len(order)), 0)) if len(order) else order
    bases = np.where(sets[order], np.maximum(at[order], 0), 0) - begins
    found, known = np.empty(len(order), np.int64), np.empty(len(order), bool)
    found[order] = begins + bases[base]
    known[order] = (sets[order] & (at[order] >= 0))[base]
    return np.where(offset >= 0, offset, found), known | (offset >= 0)


def orders_of(stream: Array, offset: Array, size: Array) -> Array:
    """The order (a place in ORDERS) of each access, of those of a stream: one file, direction and layer of a process."""
    order = np.argsort(stream, kind="stable")
    streams, offsets, sizes = stream[order], offset[order], size[order]
    follows = np.zeros(len(order), bool)
    follows[1:] = streams[1:] == streams[:-1]
    step = np.zeros(len(order), np.int64)
    step[1:] = offsets[1:] - offsets[:-1]
    gap = step.copy()
    gap[1:] -= sizes[:-1]
    same_step = np.zeros(len(order), bool)
    same_step[2:] = follows[1:-1] & (step[2:] == step[1:-1])
    kinds = np.select([~follows, gap == 0, gap < 0, same_step], [0, 1, 4, 2], 3)
    found = np.empty(len(order), np.int8)
    found[order] = kinds
    return found
