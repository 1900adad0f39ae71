"""Ranks that only write, for streams with writers="dedicated:N"."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def set_aside(dedicated: int, comm: Any = None) -> Iterator[Any]:
    """Sets `dedicated` ranks of an mpi4py communicator (by default MPI_COMM_WORLD) aside to write; collective.

    with tailrace.set_aside(2) as compute:
        if compute is not None:
            run_model(compute)  # tailrace.open(..., comm=compute, writers="dedicated:2")

    The ranks that compute get their communicator. The others write until those leave the block, and then get None. At least one
    rank is set aside, and at most half of them.
    """
    from mpi4py import MPI

    import tailrace._core as _core
    from tailrace.errors import Error

    handle = _core.set_aside((comm if comm is not None else MPI.COMM_WORLD).py2f(), dedicated)
    compute = MPI.Comm.f2py(handle)
    if compute == MPI.COMM_NULL:
        yield None
        return
    try:
        yield compute
    except BaseException:
        with suppress(Error):  # streams that were left open; the first error counts
            _core.release(handle)
        raise
    _core.release(handle)
