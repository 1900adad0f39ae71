"""Makes the kernel's input: one file of global maps, of a given size, and prints its path.

Topography and land mask are real: cdo's built-in `topo`, interpolated to the wanted grid. The other six maps (soil, ice,
vegetation, root depth, SST, NDVI) only have the names and the size of what the real model reads: they are formulas of
latitude, height and grid index. The same size gives the same bytes.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MAGIC = b"OLAMMAPS"
VERSION = 1
HEADER_BYTES = 512
NAMES = ("topography", "land_mask", "soil", "ice", "vegetation", "root_depth", "sst", "ndvi")
ELEMENT_BYTES = 4


@dataclass(frozen=True)
class Maps:
    """The global maps of an input file: `values[name]` is (lat, lon), south first, cell centres."""

    lat: int
    lon: int
    values: dict[str, np.ndarray]


def grid_of(size_bytes: int) -> tuple[int, int]:
    """The finest grid (lat, lon) with twice as many columns as rows whose file is not larger than size_bytes."""
    rows = math.isqrt(max(0, size_bytes - HEADER_BYTES) // (len(NAMES) * ELEMENT_BYTES * 2))
    if rows < 2:
        raise ValueError(f"--size-mb: {size_bytes} bytes hold no map of two rows; give at least 0.001")
    return rows, 2 * rows


def real_topography(lat: int, lon: int, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Height in m and land mask (1 where the height is above 0), made by cdo."""
    grid = folder / "grid.txt"
    grid.write_text(
        f"gridtype = lonlat\nxsize = {lon}\nysize = {lat}\n"
        f"xfirst = {180 / lon:.17g}\nxinc = {360 / lon:.17g}\nyfirst = {-90 + 90 / lat:.17g}\nyinc = {180 / lat:.17g}\n"
    )
    topo, mask = folder / "topo.ext", folder / "mask.ext"
    _cdo("-P", "1", "-f", "ext", "-b", "F32L", f"-remapbil,{grid}", "-topo", str(topo))
    _cdo("-f", "ext", "-b", "F32L", "-gtc,0", str(topo), str(mask))
    return _read_extra(topo, lat, lon), _read_extra(mask, lat, lon)


def _cdo(*arguments: str) -> None:
    command = ["cdo", "-s", "-O", *arguments]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise RuntimeError("cdo is not installed: apt install cdo") from error
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{' '.join(command)} failed: {error.stderr.strip()}") from error


def _read_extra(path: Path, lat: int, lon: int) -> np.ndarray:
    """One field of cdo's EXTRA format: Fortran records, a header of four integers and then the values."""
    record = np.fromfile(path, dtype="<i4", count=1)
    start = 4 + int(record[0]) + 4 + 4
    values = np.fromfile(path, dtype="<f4", count=lat * lon, offset=start)
    if values.size != lat * lon or path.stat().st_size != start + 4 * lat * lon + 4:
        raise RuntimeError(f"{path}: {path.stat().st_size} bytes do not hold one field of {lat} x {lon}; is cdo 2 installed?")
    return values.reshape(lat, lon)


def fillers(height: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """The six synthetic maps, as f32."""
    lat, lon = height.shape
    degrees = (-90 + (np.arange(lat, dtype=np.float32) + np.float32(0.5)) * np.float32(180 / lat))[:, None]
    index = np.arange(lat * lon, dtype=np.uint64).reshape(lat, lon)
    grain = ((index * np.uint64(2654435761)) >> np.uint64(12)) & np.uint64(0xFFFF)
    cold = np.abs(degrees) / np.float32(90)
    land = mask > 0
    return {
        "soil": np.where(land, 1 + grain % 12, 0).astype(np.float32),
        "ice": ((cold > 0.75) | (height > 5000)).astype(np.float32) * np.ones_like(height),
        "vegetation": np.where(land, 1 + (grain >> np.uint64(4)) % 96, 0).astype(np.float32),
        "root_depth": np.where(land, np.float32(0.5) + (grain % 16).astype(np.float32) / 8, 0).astype(np.float32),
        "sst": np.where(land, 0, 302 - 31 * cold * cold).astype(np.float32),
        "ndvi": np.where(land, (1 - cold) * (grain % 256).astype(np.float32) / 256, 0).astype(np.float32),
    }


def header(lat: int, lon: int) -> bytes:
    """magic, i4 version, i4 header bytes, i4 maps, i4 rows, i4 columns, 4 spare bytes, then 32 bytes of name for each map."""
    numbers = np.array([VERSION, HEADER_BYTES, len(NAMES), lat, lon, 0], dtype="<i4").tobytes()
    names = b"".join(name.encode().ljust(32) for name in NAMES)
    return (MAGIC + numbers + names).ljust(HEADER_BYTES, b"\0")


def prepare(size_mb: float, cache: Path) -> Path:
    """The path of the input of size_mb * 10^6 bytes at most; made if it is not in the cache."""
    lat, lon = grid_of(int(size_mb * 1_000_000))
    path = cache / f"olam_maps_v{VERSION}_{lat}x{lon}.bin"
    wanted_bytes = HEADER_BYTES + len(NAMES) * lat * lon * ELEMENT_BYTES
    if path.exists() and path.stat().st_size == wanted_bytes:
        return path
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".making-") as work:
        height, mask = real_topography(lat, lon, Path(work))
        made = Path(work) / "maps.bin"
        values = {"topography": height, "land_mask": mask, **fillers(height, mask)}
        with made.open("wb") as file:
            file.write(header(lat, lon))
            for name in NAMES:
                values[name].astype("<f4").tofile(file)
        os.replace(made, path)
    return path


def read_maps(path: Path) -> Maps:
    """Reads an input file back; the maps are memory-mapped."""
    with path.open("rb") as file:
        start = file.read(HEADER_BYTES)
    if start[:8] != MAGIC:
        raise ValueError(f"{path}: begins with {start[:8]!r}, not with {MAGIC!r}; make it with prepare.py")
    version, header_bytes, count, lat, lon, _ = np.frombuffer(start, "<i4", 6, offset=8).tolist()
    if version != VERSION:
        raise ValueError(f"{path}: version {version}, this is for version {VERSION}; make it again with prepare.py")
    names = [start[32 + 32 * i : 64 + 32 * i].decode().strip() for i in range(count)]
    values = np.memmap(path, "<f4", "r", offset=header_bytes, shape=(count, lat, lon))
    return Maps(lat, lon, {name: values[i] for i, name in enumerate(names)})


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the OLAM kernel's input and print its path.")
    parser.add_argument("--size-mb", type=float, default=8, help="size in 10^6 bytes (the paper's input: 500)")
    parser.add_argument("--cache", type=Path, default=Path("build/input"), help="folder that keeps prepared inputs")
    arguments = parser.parse_args()
    try:
        print(prepare(arguments.size_mb, arguments.cache).resolve())
    except (RuntimeError, ValueError, OSError) as error:
        print(f"prepare.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
