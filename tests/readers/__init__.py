"""What people open files with. Each module here is one reader, registered by being there: PROGRAMS it needs, and read()."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

import numpy as np

# What HDF5 and netCDF keep for themselves.
RESERVED = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}


@dataclass(frozen=True)
class SeenArray:
    """None: the reader does not tell. Values in C order; those of a reader that prints them may be flat."""

    values: np.ndarray
    dims: tuple[str, ...] | None = None
    attributes: Mapping[str, object] | None = None
    dtype: np.dtype | None = None


@dataclass(frozen=True)
class Seen:
    arrays: Mapping[str, SeenArray]
    dimensions: Mapping[str, int] | None = None
    attributes: Mapping[str, object] | None = None
    times: np.ndarray | None = None  # decoded
    coordinates: frozenset[str] | None = field(default=None)


class Reader(Protocol):
    PROGRAMS: tuple[str, ...]

    def read(self, path: Path, scratch: Path) -> Seen:
        """The file as it is; `scratch` is a folder for what the reader writes."""
        ...


def all_readers() -> dict[str, Reader]:
    return {
        module.name.removeprefix("read_"): cast(Reader, importlib.import_module(f"{__name__}.{module.name}"))
        for module in pkgutil.iter_modules(__path__)
    }


def output_of(*command: object) -> str:
    """What a program prints; it must succeed and have nothing to complain about."""
    words = [str(word) for word in command]
    finished = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 0, f"{' '.join(words)}\n{finished.stdout[-2000:]}\n{finished.stderr}"
    assert not finished.stderr.strip(), f"{' '.join(words)}\n{finished.stderr}"
    return finished.stdout
