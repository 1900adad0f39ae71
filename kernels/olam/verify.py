"""Checks every byte that a run of the kernel wrote, against the formula and the input file.

usage: verify.py DIR [--run RUN.json]    prints JSON; exit 1 if a byte is wrong or a file is missing or unexpected
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kernels.olam.prepare import read_maps
from kernels.shared.findings import Findings, answer, main
from kernels.shared.formula import formula

STREAMS = ("plot", "results", "history")  # numbered from 1 in native files
TYPE_CODES = {"i1": 0, "f4": 8, "f8": 9}
STATIC = ("topography", "land_mask")
HOURS_PER_STEP = 6


@dataclass(frozen=True)
class Variable:
    """One variable of a stream; levels: 0 (lat, lon), n (level, lat, lon), -1 a scalar."""

    name: str
    stream: str
    id: int
    type: str
    levels: int

    @property
    def static(self) -> bool:
        return self.name in STATIC


@dataclass(frozen=True)
class Block:
    """A rank's block of a mesh."""

    lat: int
    lats: int
    lon: int
    lons: int


class Expected:
    """The values that a run must have written, whole arrays in global order."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.case = run["case"]
        self.variables = [Variable(**v) for v in run["variables"]]
        self.maps = read_maps(Path(self.case["input"]))

    def mesh(self, stream: str) -> tuple[int, int]:
        kind = "history" if stream == "history" else "mesh"
        return self.case[f"{kind}_lat"], self.case[f"{kind}_lon"]

    def shape(self, variable: Variable) -> tuple[int, ...]:
        if variable.levels < 0:
            return ()
        levels = (variable.levels,) if variable.levels else ()
        return (*levels, *self.mesh(variable.stream))

    def values(self, variable: Variable, step: int) -> np.ndarray:
        shape = self.shape(variable)
        if variable.static:
            return self.on_mesh(variable.name).astype(variable.type)
        cells = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
        return formula(variable.id, step, cells).astype(variable.type)

    def on_mesh(self, name: str) -> np.ndarray:
        """A map at the nearest cell of each column."""
        lats, lons = self.mesh("results")
        rows = (2 * np.arange(lats) + 1) * self.maps.lat // (2 * lats)
        columns = (2 * np.arange(lons) + 1) * self.maps.lon // (2 * lons)
        return np.asarray(self.maps.values[name])[np.ix_(rows, columns)]

    def of(self, stream: str, step: int) -> list[Variable]:
        """The variables of a native file."""
        return [v for v in self.variables if v.stream == stream and (step == 1 or not v.static)]

    def block(self, stream: str, rank: int) -> Block:
        lats, lons = self.mesh(stream)
        row, column = divmod(rank, self.case["ranks_lon"])
        return Block(*_share(lats, self.case["ranks_lat"], row), *_share(lons, self.case["ranks_lon"], column))


def _share(extent: int, parts: int, part: int) -> tuple[int, int]:
    """Offset and extent of a part; the first extent % parts parts have one more."""
    each, more = divmod(extent, parts)
    return part * each + min(part, more), each + (part < more)


def native_bytes(block: Block, stream: str, step: int, rank: int, ranks: int, arrays: list[tuple[Variable, np.ndarray]]) -> bytes:
    """The expected bytes of a native file: header, table of variables, values of the block."""
    place = (block.lat, block.lats, block.lon, block.lons)
    numbers = [STREAMS.index(stream) + 1, step, rank, ranks, len(arrays), 48 + 48 * len(arrays), *place]
    head, values = [b"OLAMOUT1", np.array(numbers, "<i4").tobytes()], []
    for variable, whole in arrays:
        mine = whole
        if variable.levels >= 0:
            mine = whole[..., block.lat : block.lat + block.lats, block.lon : block.lon + block.lons]
        raw = mine.tobytes()
        kind = np.array([TYPE_CODES[variable.type], variable.levels], "<i4").tobytes()
        head.append(variable.name.encode().ljust(32) + kind + np.array([len(raw)], "<i8").tobytes())
        values.append(raw)
    return b"".join(head + values)


def native_files(expected: Expected) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names of all native files, each with a function that makes its bytes."""
    ranks = expected.case["ranks"]
    for step in range(1, expected.case["steps"] + 1):
        for stream in STREAMS:
            arrays = [(v, expected.values(v, step)) for v in expected.of(stream, step)]
            if stream == "history":
                whole = Block(0, expected.mesh(stream)[0], 0, expected.mesh(stream)[1])
                yield f"history.{step:06d}", partial(native_bytes, whole, stream, step, 0, ranks, arrays)
                continue
            for rank in range(ranks):
                block = expected.block(stream, rank)
                yield f"{stream}.{step:06d}.{rank:06d}", partial(native_bytes, block, stream, step, rank, ranks, arrays)


def verify_native(directory: Path, expected: Expected, findings: Findings) -> None:
    present = {path.name for path in directory.iterdir()}
    for name, content in native_files(expected):
        if name not in present:
            findings.mismatches += len(content())
            findings.problem(f"{directory / name}: is missing")
            continue
        present.remove(name)
        found = np.frombuffer((directory / name).read_bytes(), np.uint8)
        findings.compare(str(directory / name), np.frombuffer(content(), np.uint8), found)
    for name in sorted(present):
        findings.mismatches += 1
        findings.problem(f"{directory / name}: is not a file of this run; a run's folder must be empty before it")


def verify_tailrace(directory: Path, expected: Expected, findings: Findings) -> None:
    import xarray

    for stream in STREAMS:
        path = directory / f"{stream}.nc"
        if not path.exists():
            findings.mismatches += 1
            findings.problem(f"{path}: is missing")
            continue
        # Raw values: decoding of fill values or time would change the bytes before the check.
        with xarray.open_dataset(path, engine="netcdf4", decode_cf=False) as dataset:
            _verify_dataset(dataset, stream, path, expected, findings)


def _verify_dataset(dataset: Any, stream: str, path: Path, expected: Expected, findings: Findings) -> None:
    steps = expected.case["steps"]
    lats, lons = expected.mesh(stream)
    coordinates = {
        "lat": -90 + (2 * np.arange(lats) + 1) * 90.0 / lats,
        "lon": (2 * np.arange(lons) + 1) * 180.0 / lons,
        "time": np.arange(1, steps + 1, dtype=np.float64) * HOURS_PER_STEP,
    }
    for name, values in coordinates.items():
        _compare_variable(dataset, name, (), slice(None), values, path, findings)
    for variable in (v for v in expected.variables if v.stream == stream):
        dims = () if variable.levels < 0 else ("level", "lat", "lon")[0 if variable.levels else 1 :]
        if variable.static:
            _compare_variable(dataset, variable.name, dims, slice(None), expected.values(variable, 0), path, findings)
            continue
        for step in range(1, steps + 1):
            values = expected.values(variable, step)
            _compare_variable(dataset, variable.name, ("time", *dims), step - 1, values, path, findings)
    ours = {v.name for v in expected.variables if v.stream == stream} | set(coordinates)
    for name in sorted(set(dataset.variables) - ours):
        findings.problem(f"{path}: unexpected variable {name}")
        findings.mismatches += 1


def _compare_variable(
    dataset: Any, name: str, dims: tuple[str, ...], index: int | slice, values: np.ndarray, path: Path, findings: Findings
) -> None:
    if name not in dataset.variables:
        findings.mismatches += values.nbytes
        findings.problem(f"{path}: variable {name} is missing")
        return
    found = dataset.variables[name]
    if dims and found.dims != dims:
        findings.mismatches += values.nbytes
        findings.problem(f"{path}: {name} has dimensions {found.dims}, {dims} expected")
        return
    if isinstance(index, int) and index >= found.shape[0]:
        findings.mismatches += values.nbytes
        findings.problem(f"{path}: {name} ends after {found.shape[0]} steps, step {index + 1} expected")
        return
    findings.compare(f"{path}: {name}[{index}]", values, np.asarray(found[index].values))


def check_counts(expected: Expected, findings: Findings) -> None:
    """Checks the variables in the record: the case determines their number, types and levels."""
    case = expected.case
    numbered = [
        *(("plot", 101 + i, "f4", 0) for i in range(case["plot_fields"])),
        *(("results", 201 + i, "f4", case["results_levels"]) for i in range(3)),
        *(("results", 301 + i, "f8", 0) for i in range(case["results_fields"])),
        ("results", 1, "f4", 0),
        ("results", 2, "i1", 0),
        *(("history", 401 + i, "f8", 0) for i in range(case["history_fields"])),
        *(("history", 501 + i, "f8", -1) for i in range(3)),
    ]
    found = [(v.stream, v.id, v.type, v.levels) for v in expected.variables]
    for wrong in sorted(set(found) ^ set(numbered)) + [one for one in set(found) if found.count(one) > 1]:
        findings.mismatches += 1
        findings.problem(f"record: a variable (stream, id, type, levels) = {wrong} is unexpected, missing or there twice")


def check_maps(run: dict[str, Any], expected: Expected, findings: Findings) -> None:
    """All eight maps were read on all ranks: their sums over the mesh are those of the input file."""
    for name, found in run["map_sums"].items():
        wanted = expected.on_mesh(name).sum(dtype=np.float64)
        if not np.isclose(found, wanted, rtol=1e-9, atol=1e-6):
            findings.mismatches += 1
            findings.problem(f"map {name}: its sum over the mesh is {found}, {wanted} expected")


def verify(directory: Path | str, run: dict[str, Any] | Path | str) -> dict[str, Any]:
    """Checks the output of a run in `directory`; `run` is its record, or the path of it."""
    directory = Path(directory)
    record: dict[str, Any] = run if isinstance(run, dict) else json.loads(Path(run).read_text())
    expected, findings = Expected(record), Findings()
    output = expected.case["output"]
    check_counts(expected, findings)
    check_maps(record, expected, findings)
    if output == "native":
        verify_native(directory, expected, findings)
    elif output == "tailrace":
        verify_tailrace(directory, expected, findings)
    return answer(directory, findings)


if __name__ == "__main__":
    sys.exit(main("Check every byte of an OLAM kernel run.", verify))
