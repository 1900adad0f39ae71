"""ncks of NCO: the copy that it makes of every array."""

from __future__ import annotations

from pathlib import Path

from tests.readers import Seen, output_of, read_netcdf4

PROGRAMS = ("ncks",)


def read(path: Path, scratch: Path) -> Seen:
    copy = scratch / "copied_by_ncks.nc"
    output_of("ncks", "-O", "--cnk_plc=uck", path, copy)  # virtual datasets have no chunks that NCO could copy
    seen = read_netcdf4.read(copy, scratch)
    own = {"NCO", "history"}
    attributes = {name: value for name, value in (seen.attributes or {}).items() if name not in own}
    return Seen(seen.arrays, seen.dimensions, attributes)
