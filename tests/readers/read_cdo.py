"""CDO: names, times and the values of every field; it keeps coordinates apart, and leaves out what has no dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.readers import Seen, SeenArray, output_of

PROGRAMS = ("cdo",)


def read(path: Path, scratch: Path) -> Seen:
    arrays = {}
    for name in output_of("cdo", "-s", "showname", path).split():
        printed = output_of("cdo", "-s", "outputf,%.17g ,1", f"-selname,{name}", path)
        arrays[name] = SeenArray(np.array([float(word) for word in printed.split()]))
    times = output_of("cdo", "-s", "showtimestamp", path).split()
    output_of("cdo", "-s", "infon", path)
    output_of("cdo", "-s", "sinfon", path)
    return Seen(arrays, times=np.array(times, "datetime64[s]"))
