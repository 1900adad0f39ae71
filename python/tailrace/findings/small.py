"""Small transfers, for two rules: those that write and those that read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailrace.findings.estimates import seconds_per_byte, without_stalls
from tailrace.findings.files import files_text
from tailrace.findings.finding import Cause
from tailrace.quantities import bytes_text, count_text
from tailrace.trace.activity import Activity, Array

MANY, SMALL_BYTES = 1000, 64 << 10
MOST_REPEATED = 1000  # most times that a row of merged calls counts in the median
# The program supplies the buffer: without one, glibc ignores the size given to setvbuf.
LARGER_BUFFER = ("static char buffer[1 << 20];", "setvbuf(file, buffer, _IOFBF, sizeof buffer);  // C, before the first call")
IN_PYTHON = "open(..., buffering=1 << 20)  # Python"
WITHIN_MPI, WITHIN_HDF5 = 1, 2 | 4  # flags: HDF5, and netCDF, whose files are HDF5's
MOST = 0.5  # a library with more than this share of the seconds is named as the maker of the calls


@dataclass(frozen=True)
class Remedy:
    text: str
    lines: Sequence[str]


PROGRAM, HDF5, MPI = "the program", "HDF5", "MPI-IO"
REMEDIES = {
    ("write", PROGRAM): Remedy(
        "collect data in memory and write at least 1 MiB at a time; a larger buffer does it",
        (
            "FILE *file = fopen(...); setvbuf(file, buffer, _IOFBF, 1 << 20);  // C: a stream instead of write()",
            "stream.rdbuf()->pubsetbuf(buffer, 1 << 20);  // C++, before open()",
            "export GFORTRAN_FORMATTED_BUFFER_SIZE=1048576 GFORTRAN_UNFORMATTED_BUFFER_SIZE=1048576  # gfortran 10 and later",
            IN_PYTHON,
        ),
    ),
    ("read", PROGRAM): Remedy(
        "read at least 1 MiB at a time, and take the pieces from memory; a larger buffer does it", (*LARGER_BUFFER, IN_PYTHON)
    ),
    ("write", HDF5): Remedy(
        "give HDF5 more at a time: larger selections, and chunks that one call fills; metadata in larger pieces",
        (
            "file.create_dataset(name, shape, chunks=(rows, columns))  # h5py: 1 MiB or more a chunk",
            "H5Pset_meta_block_size(access, 1 << 20);  // C, before H5Fcreate",
        ),
    ),
    ("read", HDF5): Remedy(
        "read larger selections at once, whole chunks of them; a larger cache keeps chunks",
        (
            "h5py.File(name, rdcc_nbytes=64 << 20)  # Python",
            "H5Pset_cache(access, 0, 12421, 64 << 20, 0.75);  // C, before H5Fopen",
        ),
    ),
    ("write", MPI): Remedy("write collectively, so that MPI joins the pieces of all ranks", ("MPI_File_write_at_all(...);",)),
    ("read", MPI): Remedy("read collectively, so that MPI joins the pieces of all ranks", ("MPI_File_read_at_all(...);",)),
}


def small_transfers(activity: Activity, calls: Sequence[str], verb: str) -> Cause | None:
    moves = np.flatnonzero(activity.is_call(*calls, merged=True) & activity.of_user_data & (activity.result > 0))
    sizes = activity.result[moves] / activity.count[moves]  # of a row of merged calls: their mean
    small = moves[sizes < SMALL_BYTES]
    counts = activity.count[small]
    per_file = np.bincount(activity.file[small], counts, minlength=len(activity.files)) if len(small) else np.zeros(1)
    small = small[per_file[activity.file[small]] >= MANY] if len(small) else small
    if len(small) == 0:
        return None
    moved = activity.result[small]
    needed = moved * seconds_per_byte(activity, moves)
    counts = activity.count[small]
    saved = np.maximum(without_stalls(activity.seconds[small] / counts) * counts - needed, 0)
    middle = int(np.median((moved / counts).repeat(np.minimum(counts, MOST_REPEATED))))
    past = {"write": "written", "read": "read"}[verb]
    maker = _maker(activity, small)
    remedy = REMEDIES[verb, maker]
    by = "" if maker == PROGRAM else f"of {maker} "
    return Cause(
        small,
        np.minimum(saved, activity.seconds[small]),
        f"{count_text(int(counts.sum()))} calls {by}{verb} {bytes_text(middle)} each (the median); most in "
        f"{files_text(activity, small)}",
        f"time of each call above that of its bytes, if they were {past} in large calls",
        remedy.text,
        remedy.lines,
        "high",
    )


def _maker(activity: Activity, calls: Array) -> str:
    """Who made most of these calls, by their seconds."""
    seconds, flags = activity.seconds[calls], activity.flags[calls]
    for name, bits in ((HDF5, WITHIN_HDF5), (MPI, WITHIN_MPI)):
        if seconds[flags & bits != 0].sum() > MOST * seconds.sum():
            return name
    return PROGRAM
