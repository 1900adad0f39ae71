"""h5py: dimensions by their scales."""

from __future__ import annotations

from pathlib import Path

import h5py

from tests.readers import RESERVED, Seen, SeenArray

PROGRAMS: tuple[str, ...] = ()


def attributes_of(item: h5py.Dataset | h5py.File) -> dict[str, object]:
    found = {}
    for name, value in item.attrs.items():
        if name not in RESERVED:
            text = value.decode() if isinstance(value, bytes) else value
            found[name] = text[0] if not isinstance(text, str) and getattr(text, "shape", None) == (1,) else text
    return found


def read(path: Path, scratch: Path) -> Seen:
    with h5py.File(path) as file:
        arrays, dimensions = {}, {}
        for name, array in file.items():
            if array.is_scale:
                dimensions[name] = len(array)
            if array.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension but not a netCDF variable"):
                continue
            dims = (name,) if array.is_scale else tuple(dimension[0].name.strip("/") for dimension in array.dims)
            arrays[name] = SeenArray(array[()], dims, attributes_of(array), array.dtype)
        return Seen(arrays, dimensions, attributes_of(file))
