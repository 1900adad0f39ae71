"""From whatever the caller has to the Fortran handle of a communicator, which every MPI library and mpi4py can make."""

from __future__ import annotations

import sys
from typing import Any

import tailrace._core as _core
from tailrace.launched import launched_together


def fortran_handle(comm: Any = None) -> int:
    """The handle of an mpi4py communicator, of an integer that is one already, or of MPI_COMM_WORLD for None."""
    if isinstance(comm, int):
        return comm
    if comm is None:
        if not _core.WITH_MPI:
            _require_one_process()
            return _core.world()
        comm = _mpi4py_world()
        if comm is None:
            return _core.world()
    if not hasattr(comm, "py2f"):
        raise TypeError(f"comm is a {type(comm).__name__}; pass an mpi4py communicator, a Fortran handle (int) or None")
    _require_same_library()
    return comm.py2f()


def _require_one_process() -> None:
    """Raises MPI_FAILED if a launcher started several processes and the library has no MPI: each would write the same stream."""
    if (found := launched_together()) is not None:
        name, count = found
        raise _core.ERRORS["MPI_FAILED"](
            f"this is one of {count} processes ({name}), but Tailrace was loaded without MPI, for one process: "
            "install an MPI, then `pip install --force-reinstall --no-binary tailrace 'tailrace[mpi]'`"
        )


def _mpi4py_world() -> Any:
    """MPI_COMM_WORLD by mpi4py, so that it initialises and finalises MPI; None where there is no usable mpi4py."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):  # RuntimeError: mpi4py is there, but finds no MPI library
        return None
    return MPI.COMM_WORLD


def _require_same_library() -> None:
    """Raises MPI_FAILED if mpi4py uses another MPI library than Tailrace, such as MPICH and Open MPI: handles are then not
    valid."""
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is None:
        return
    if not _core.WITH_MPI:
        raise _core.ERRORS["MPI_FAILED"](
            "comm is a communicator of mpi4py, but Tailrace was loaded without MPI, for one process: pass comm=None, or install an "
            "MPI, then `pip install --force-reinstall --no-binary tailrace 'tailrace[mpi]'`"
        )
    # Some MPI libraries count the final NUL as a part of their version string.
    theirs, ours = (text.rstrip("\0 \n") for text in (mpi4py.Get_library_version(), _core.mpi_library()))
    if theirs != ours:
        raise _core.ERRORS["MPI_FAILED"](
            f"mpi4py uses '{theirs.splitlines()[0]}', tailrace uses '{ours.splitlines()[0]}'; "
            "install mpi4py for the latter: MPICC=mpicc pip install --no-binary mpi4py mpi4py"
        )
