"""Recorded Python programs: libraries of extension modules, some of them loaded twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.mpirun import Mpirun
from tests.recorder import Recorder, called

HDF5_AND_NETCDF = """
import os, sys
from mpi4py import MPI
import h5py, netCDF4, numpy as np
rank = MPI.COMM_WORLD.rank
with h5py.File(f"h5.{rank}", "w") as file:
    file["values"] = np.arange(100.0)
    chunked = file.create_dataset("chunked", (4, 6), "f4", chunks=(2, 6), compression="gzip")
    chunked.id.write_direct_chunk((2, 0), b"squeezed", 0)
    assert chunked.id.read_direct_chunk((2, 0))[1] == b"squeezed"
with netCDF4.Dataset(f"nc.{rank}", "w") as file:
    file.createDimension("x", 10)
    file.createVariable("T", "f4", ("x",))[:] = np.arange(10)
with h5py.File(f"h5.{rank}") as file:
    assert (file["values"][10:20] == np.arange(10, 20)).all()
MPI.COMM_WORLD.Barrier()
"""


def test_two_hdf5_libraries_and_mpi_of_an_extension_module(mpirun: Mpirun, tmp_path: Path) -> None:
    """h5py and netCDF4 have an HDF5 each. The MPI of mpi4py is visible to mpi4py only."""
    record = Recorder(mpirun, tmp_path)
    script = tmp_path / "both.py"
    script.write_text(HDF5_AND_NETCDF)
    for log in record(script, ranks=2):
        rank = int(log.header["rank"])
        events = called(log)
        counts = Counter((call, Path(file).name) for call, file, *_ in events)
        assert counts["H5Fcreate", f"h5.{rank}"] == 1
        assert counts["H5Dwrite", f"h5.{rank}"] == 2
        assert ("H5Dwrite", str(record.work / f"h5.{rank}"), -1, 8, 8) in events
        assert ("H5Dread", str(record.work / f"h5.{rank}"), -1, 8, 8) in events
        assert ("H5Dwrite", str(record.work / f"h5.{rank}"), -1, 800, 800) in events
        assert ("H5Dread", str(record.work / f"h5.{rank}"), -1, 80, 80) in events
        assert ("nc_put_vara", f"nc.{rank}") in counts
        assert counts["nc_create", f"nc.{rank}"] == counts["nc_close", f"nc.{rank}"] == 1
        assert counts["H5Fcreate", f"nc.{rank}"] == 1, "of netCDF"
        assert counts["MPI_Barrier", "MPI ranks 0-1"] == 1
