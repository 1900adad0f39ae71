"""netCDF4-python."""

from __future__ import annotations

from pathlib import Path

import netCDF4

from tests.readers import Seen, SeenArray

PROGRAMS: tuple[str, ...] = ()


def read(path: Path, scratch: Path) -> Seen:
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        arrays = {
            name: SeenArray(array[...], array.dimensions, {key: array.getncattr(key) for key in array.ncattrs()}, array.dtype)
            for name, array in file.variables.items()
        }
        attributes = {key: file.getncattr(key) for key in file.ncattrs()}
        return Seen(arrays, {name: len(dimension) for name, dimension in file.dimensions.items()}, attributes)
