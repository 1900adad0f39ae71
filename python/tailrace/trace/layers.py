"""The layer and the kind of each call: what a table of self times sums by."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

# From the outermost to the innermost: a call is made by calls of layers before its own, or by the program.
LAYERS = ("netCDF", "PnetCDF", "HDF5", "MPI-IO", "MPI", "stdio", "POSIX", "counted", "process", "phase")
IO_KINDS = ("read", "write", "metadata", "sync")
OTHER = "other"  # the kind of calls that are no I/O: messages between ranks, memory, new processes, marks of phases

# What the bytes of a call are. A total takes one of these and never adds two.
SYSTEM = "system"  # between the program and the kernel
BUFFERED = "buffered"  # between the program and a buffer of the C library
TRANSFER = "transfer"  # between such a buffer and the kernel
LIBRARY = "library"  # of a library that moves them again by calls of the others
NO_BYTES = ""
COUNTED = "counted"  # the group and the layer of calls that are only counted

PREFIXES = {"hdf5": "HDF5", "netcdf": "netCDF", "pnetcdf": "PnetCDF"}
MPI_IO_GROUPS = ("mpi_file", "mpi_read", "mpi_write", "mpiio")
SYNC_CALLS = {"MPI_File_sync", "H5Fflush", "nc_sync", "ncmpi_sync", "ncmpi_wait_all", "MPI_Wait", "MPI_Waitall"}
SYNC_CALLS |= {"MPI_Waitany", "MPI_Waitsome"}
STDIO_CALLS = ("fopen", "fclose", "fflush", "fseek")


class Place(NamedTuple):
    layer: str
    kind: str
    moves: str  # SYSTEM, BUFFERED, TRANSFER, LIBRARY or NO_BYTES

    @property
    def is_io(self) -> bool:
        return self.kind in IO_KINDS


class CallName(NamedTuple):
    name: str
    group: str
    place: Place


@cache
def place_of(call: str, group: str) -> Place:
    """The place of a call. A call that this version does not know, from a newer log, is placed by its group."""
    prefix = group.partition("_")[0]
    if prefix in PREFIXES:
        return Place(PREFIXES[prefix], _library_kind(call, group), LIBRARY)
    if group in MPI_IO_GROUPS:
        return Place("MPI-IO", _library_kind(call, group), LIBRARY)
    if group in ("collective", "mpi"):
        return Place("MPI", OTHER, NO_BYTES)
    if group == COUNTED:
        return Place(COUNTED, OTHER, SYSTEM)
    if group in ("process", "phase"):
        return Place(group, OTHER, NO_BYTES)
    if group in ("fill", "flush"):
        return Place("stdio", "read" if group == "fill" else "write", TRANSFER)
    if group in ("stdio_read", "stdio_write"):
        return Place("stdio", group.removeprefix("stdio_"), BUFFERED)
    if group in ("read", "write"):
        return Place("POSIX", group, SYSTEM)
    layer = "stdio" if call in STDIO_CALLS else "POSIX"
    kind = {"sync": "sync", "map": OTHER}.get(group, "metadata")
    return Place(layer, kind, NO_BYTES)


def _library_kind(call: str, group: str) -> str:
    if call in SYNC_CALLS:
        return "sync"
    if group.endswith("_read"):
        return "read"
    if group.endswith("_write"):
        return "write"
    return {"MPI_File_read": "read", "MPI_File_write": "write"}.get(call, "metadata")
