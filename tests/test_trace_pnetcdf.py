"""Recorded programs of PnetCDF: calls of every kind, with the bytes that they move."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np

from tests.mpirun import Mpirun
from tests.recorder import Recorder, called

RANKS, MINE = 3, 10


def test_each_kind_of_call_is_recorded_with_its_bytes(mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> None:
    record = Recorder(mpirun, tmp_path)
    file = str(record.work / "v.nc")
    for log in record(build_dir / "tests" / "pnetcdf_case", file, ranks=RANKS):
        events = [(call, name, size, answer) for call, name, _, size, answer in called(log) if call.startswith("ncmpi_")]
        whole = 4 * MINE
        assert events == [
            ("ncmpi_create", file, 0, 0),
            ("ncmpi_enddef", file, 0, 0),
            ("ncmpi_put_vara", file, whole, whole),
            ("ncmpi_put_vara", file, whole, whole),  # the untyped form
            ("ncmpi_put_varn", file, whole, whole),
            ("ncmpi_iput_vara", file, whole, whole),
            ("ncmpi_iput_varn", file, whole, whole),
            ("ncmpi_wait_all", file, 0, 0),
            ("ncmpi_get_var1", file, 4, 4),
            ("ncmpi_iget_vara", file, whole, whole),
            ("ncmpi_wait_all", file, 0, 0),
            ("ncmpi_close", file, 0, 0),
        ]
        of_variable = [event for event in log.events if log.calls[int(event["call"])].name.startswith(("ncmpi_put", "ncmpi_i"))]
        assert {log.name_of(int(event["detail"])) for event in of_variable} == {"v"}
        within = {call for (call, *_), event in zip(called(log), log.events, strict=True) if int(event["flags"]) & 8}
        assert "MPI_File_write_at_all" in within or "MPI_File_write_at" in within, within
    with netCDF4.Dataset(file) as dataset:
        assert (dataset["v"][:] == np.arange(RANKS * MINE)).all()
