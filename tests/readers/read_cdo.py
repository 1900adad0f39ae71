"""CDO: times, and the copy that it makes of every field; it keeps coordinates apart, and leaves out what has no dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.readers import Seen, SeenArray, output_of, read_netcdf4

PROGRAMS = ("cdo",)


def read(path: Path, scratch: Path) -> Seen:
    copy = scratch / "copied_by_cdo.nc"
    output_of("cdo", "-s", "-O", "copy", path, copy)
    copied = read_netcdf4.read(copy, scratch)
    # CDO writes coordinates anew, with attributes of its own; integers of 64 bits it takes as f8.
    fields = {name: SeenArray(array.values) for name, array in copied.arrays.items() if array.dims != (name,)}
    times = output_of("cdo", "-s", "showtimestamp", path).split()
    return Seen(fields, times=np.array(times, "datetime64[s]"))
