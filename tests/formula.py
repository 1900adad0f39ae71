"""What tests/mpi/write_case.cpp writes, once more: variables, attributes and values by variable, step and global index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

TIME_ATTRIBUTES = {"units": "hours since 2001-01-01", "calendar": "standard"}
GLOBAL_ATTRIBUTES = {"title": "write_case: größte Probe", "Conventions": "CF-1.8", "version": np.int64(3)}
UNITS = {"lat": "degrees_north", "lon": "degrees_east", "lev": "hPa"}
GAP = 3  # places at the end of the last dimension that nobody puts


@dataclass(frozen=True)
class Sizes:
    lev: int = 3
    lat: int = 10
    lon: int = 8

    @property
    def argument(self) -> str:
        return f"size={self.lev},{self.lat},{self.lon}"

    def of(self, dims: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(getattr(self, dim) for dim in dims)


@dataclass(frozen=True)
class Variable:
    number: int
    name: str
    dtype: str
    dims: tuple[str, ...]
    static: bool = False
    fill: bool = False
    gap: bool = False
    empty: bool = False

    @property
    def is_coordinate(self) -> bool:
        return self.dims == (self.name,)

    @property
    def attributes(self) -> Mapping[str, object]:
        texts = {"units": UNITS[self.name]} if self.name in UNITS else {"units": "K", "long_name": f"größte {self.name}"}
        numbers = {"number": np.int32(self.number), "numbers": np.array([-512.5, 1e300, 0.1])}
        return {**texts, **numbers, **({"_FillValue": fill_of(self.dtype)} if self.fill else {})}

    def values(self, step: int, sizes: Sizes) -> np.ndarray:
        """Of one step, without a time dimension; gaps hold the fill value."""
        shape = sizes.of(self.dims)
        if self.is_coordinate:
            return coordinate(self.name, shape[0]).astype(self.dtype)
        result = formula(self.number, 0 if self.static else step, shape, self.dtype)
        if self.gap:
            result[..., 0 if self.empty else max(0, shape[-1] - GAP) :] = fill_of(self.dtype)
        return result

    def all_values(self, steps: int, sizes: Sizes) -> np.ndarray:
        """As it is read from a file: with the time dimension, if the variable has it."""
        if self.static:
            return self.values(0, sizes)
        return np.stack([self.values(step, sizes) for step in range(steps)])


def coordinate(name: str, length: int) -> np.ndarray:
    k = np.arange(length, dtype="f8")
    match name:
        case "lat":
            return -90.0 + 180.0 * (k + 0.5) / length
        case "lon":
            return 360.0 * k / length
    return 1000.0 - 10.0 * k


def formula(variable: int, step: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    index = np.arange(int(np.prod(shape, dtype=int)), dtype="u8").reshape(shape)
    with np.errstate(over="ignore"):
        key = np.uint64(variable) * np.uint64(0x1000193) + np.uint64(step) * np.uint64(0x10001) + index
        x = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)
        if dtype == "f4":
            return np.asarray((x >> np.uint64(29)).astype("f4") * np.float32(2.0**-14) - np.float32(512))
        if dtype == "f8":
            return np.asarray(x.astype("f8") * 2.0**-43 - 512.0)
        bits = 8 * np.dtype(dtype).itemsize
        y = x if bits == 64 else x % np.uint64(2**bits - 5)
        return np.asarray((y - np.uint64(2 ** (bits - 1) - 3)).astype(dtype) if dtype[0] == "i" else y.astype(dtype))


def fill_of(dtype: str) -> np.generic:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return kind.type(-9999)
    limits = np.iinfo(kind)
    return kind.type(limits.min if kind.kind == "i" else limits.max)


def times(steps: int) -> np.ndarray:
    return 6.0 * np.arange(steps)


VOLUME, MAP = ("lev", "lat", "lon"), ("lat", "lon")

CLIMATE = (
    Variable(1, "lat", "f8", ("lat",), static=True),
    Variable(2, "lon", "f8", ("lon",), static=True),
    Variable(3, "lev", "f4", ("lev",), static=True),
    Variable(4, "topo", "f4", MAP, static=True),
    Variable(5, "T", "f4", VOLUME),
    Variable(6, "mask", "i1", MAP),
    Variable(7, "U", "f8", VOLUME),
    Variable(8, "snow", "f4", MAP, fill=True, gap=True),
    Variable(9, "soil", "i4", MAP, fill=True),
    Variable(10, "mass", "f8", ()),
    Variable(11, "count", "i2", ("lat",)),
    Variable(12, "area", "f4", MAP, static=True),
    Variable(13, "profile", "f8", ("lev",)),
    Variable(14, "number", "i4", ()),
    Variable(15, "radius", "f8", (), static=True),
    Variable(16, "nothing", "i2", MAP, fill=True, gap=True, empty=True),
)
TYPES = tuple(
    variable
    for k, code in enumerate(("i1", "f8", "u1", "i8", "i2", "u8", "u2", "f4", "i4", "u4"))
    for variable in (
        Variable(20 + 2 * k, f"map_{code}", code, MAP, fill=k % 2 == 1, gap=k % 2 == 1),
        Variable(21 + 2 * k, f"line_{code}", code, ("lon",), static=True),
    )
)
PLAN = (
    Variable(50, "a", "f4", VOLUME),
    Variable(51, "b", "i1", MAP),
    Variable(52, "s", "f8", ()),
    Variable(53, "c", "f8", VOLUME),
    Variable(54, "n", "i2", ()),
)
SETS = {"climate": CLIMATE, "types": TYPES, "plan": PLAN}
