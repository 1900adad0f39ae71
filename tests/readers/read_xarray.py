"""xarray: dimensions, coordinates and times as it opens a file by default; values before it masks them."""

from __future__ import annotations

from pathlib import Path

import xarray

from tests.readers import Seen, SeenArray

PROGRAMS: tuple[str, ...] = ()


def read(path: Path, scratch: Path) -> Seen:
    with xarray.open_dataset(path) as default, xarray.open_dataset(path, decode_times=False, mask_and_scale=False) as raw:
        arrays = {
            str(name): SeenArray(
                array.values, tuple(map(str, array.dims)), {str(key): value for key, value in array.attrs.items()}, array.dtype
            )
            for name, array in raw.variables.items()
        }
        for name, array in default.variables.items():
            if name != "time":
                assert array.dims == raw[name].dims
                assert array.shape == raw[name].shape
        return Seen(
            arrays,
            {str(name): length for name, length in default.sizes.items()},
            {str(key): value for key, value in raw.attrs.items()},
            default["time"].values,
            frozenset(map(str, default.coords)),
        )
