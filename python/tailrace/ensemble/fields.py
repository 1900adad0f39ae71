"""Fields: whole arrays of a member. A worker reads them and keeps them in one file for each member; `gathering` joins the files."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.ensemble import modflow
from tailrace.ensemble.readings import function_of, netcdf_lock
from tailrace.ensemble.values import ALL_TIMES, FLOPY_KINDS, FieldReading, MemberError, Value

Array = np.ndarray[Any, np.dtype[Any]]
# The element types that a field may have, each with netCDF's fill value, which marks the elements of a member without a value.
FILLS: dict[str, float | int] = {
    "i1": -127,
    "i2": -32767,
    "i4": -2147483647,
    "i8": -9223372036854775806,
    "u1": 255,
    "u2": 65535,
    "u4": 4294967295,
    "u8": 18446744073709551614,
    "f4": 9.969209968386869e36,
    "f8": 9.969209968386869e36,
}
ABOUT = "about"  # the entry of a member's file that describes the others


@dataclass
class MemberField:
    values: Array
    dims: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    coordinates: dict[str, MemberField] = field(default_factory=dict)  # by dimension

    @property
    def kind(self) -> str:
        return self.values.dtype.str[1:]


def read_fields(
    readings: Sequence[FieldReading], home: Path, directory: Path, parameters: Mapping[str, Value]
) -> dict[str, MemberField]:
    """All fields of a member. Raises MemberError."""
    found = {}
    for reading in readings:
        try:
            one = READERS[reading.kind](reading, home, directory, parameters)
        except MemberError as error:
            file = f"{reading.file}: " if reading.kind in FLOPY_KINDS else ""
            raise MemberError(error.reason, f"field '{reading.name}': {file}{error.message}") from None
        except FileNotFoundError as error:
            raise MemberError("missing", f"field '{reading.name}': {error.filename}: no such file") from None
        except (Exception, SystemExit) as error:
            raise MemberError("malformed", f"field '{reading.name}': {type(error).__name__}: {error}") from None
        found[reading.name] = _checked(reading, one)
    _check_together(found)
    return found


def _checked(reading: FieldReading, one: MemberField) -> MemberField:
    if one.kind not in FILLS:
        raise MemberError("malformed", f"field '{reading.name}': has type {one.values.dtype}; it must be one of {', '.join(FILLS)}")
    if one.values.size == 0:
        raise MemberError("malformed", f"field '{reading.name}': has no element (shape {one.values.shape})")
    if reading.shape and one.values.shape != reading.shape:
        raise MemberError(
            "malformed", f"field '{reading.name}': has shape {_text(one.values.shape)}, and `shape` is {_text(reading.shape)}"
        )
    dims = reading.dims or one.dims
    if len(dims) != one.values.ndim:
        raise MemberError(
            "malformed", f"field '{reading.name}': has {one.values.ndim} dimensions, and `dims` names {', '.join(dims)}"
        )
    coordinates = {} if reading.dims else one.coordinates
    return MemberField(np.ascontiguousarray(one.values), tuple(dims), one.attributes, coordinates)


def _check_together(found: Mapping[str, MemberField]) -> None:
    """Fields of one member share dimensions by their names."""
    lengths: dict[str, tuple[int, str]] = {}
    for name, one in found.items():
        for dim, length in zip(one.dims, one.values.shape, strict=True):
            if lengths.setdefault(dim, (length, name))[0] != length:
                other = lengths[dim]
                text = (
                    f"field '{name}': dimension '{dim}' has length {length}, and {other[0]} in '{other[1]}': name others as `dims`"
                )
                raise MemberError("malformed", text)


def _netcdf(reading: FieldReading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> MemberField:
    import netCDF4

    path = directory / reading.file
    path.stat()  # FileNotFoundError, with the name
    with netcdf_lock, netCDF4.Dataset(path) as dataset:
        if reading.pattern not in dataset.variables:
            raise MemberError(
                "malformed", f"{reading.file}: no variable '{reading.pattern}'; it has {', '.join(dataset.variables)}"
            )
        variable = dataset.variables[reading.pattern]
        coordinates = {
            dim: MemberField(_unmasked(dataset.variables[dim]), (dim,), _attributes(dataset.variables[dim]))
            for dim in variable.dimensions
            if dim in dataset.variables and dataset.variables[dim].dimensions == (dim,)
        }
        return MemberField(_unmasked(variable), variable.dimensions, _attributes(variable), coordinates)


def _unmasked(variable: Any) -> Array:
    """The variable's values as the file stores them: packed values stay packed, and missing values stay the variable's fill
    value."""
    variable.set_auto_maskandscale(False)
    values = np.asarray(variable[...])
    return values.astype(values.dtype.newbyteorder("="))


def _attributes(variable: Any) -> dict[str, Any]:
    found = {}
    for name in variable.ncattrs():
        value = variable.getncattr(name)
        plain = value.tolist() if hasattr(value, "tolist") else value
        if not name.startswith("_") or name == "_FillValue":
            found[name] = plain
    return found


def _csv(reading: FieldReading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> MemberField:
    with (directory / reading.file).open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    heading = [name.strip() for name in rows[0]] if rows else []
    if reading.pattern not in heading:
        raise MemberError("malformed", f"{reading.file}: no column '{reading.pattern}' in {', '.join(heading) or 'an empty file'}")
    at = heading.index(reading.pattern)
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(heading):
            raise MemberError(
                "malformed", f"{reading.file}: row {number} has {len(row)} values, and the heading names {len(heading)}"
            )
    return MemberField(np.array([float(row[at]) for row in rows[1:]]), ("row",))


def _npy(reading: FieldReading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> MemberField:
    return _plain(reading, np.load(directory / reading.file, allow_pickle=False))


def _python(reading: FieldReading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> MemberField:
    path, _, name = reading.pattern.partition(":")
    return _plain(reading, np.asarray(function_of(str(home / path), name)(directory, dict(parameters))))


def _heads(reading: FieldReading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> MemberField:
    path, dims = directory / reading.file, ("layer", "row", "column")
    if reading.time != ALL_TIMES:
        return MemberField(_filled(modflow.heads(path, reading.pattern, reading.time)), dims)
    times, values = modflow.all_heads(path, reading.pattern)
    return MemberField(_filled(values), ("time", *dims), coordinates={"time": MemberField(times, ("time",))})


def _filled(values: Array) -> Array:
    return np.where(np.isnan(values), FILLS["f8"], values)


def _budget(reading: FieldReading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> MemberField:
    return _plain(reading, modflow.budget(directory / reading.file, reading.pattern, reading.time))


def _plain(reading: FieldReading, values: Array) -> MemberField:
    values = values.astype(values.dtype.newbyteorder("="))
    return MemberField(values, tuple(f"{reading.name}_{place}" for place in range(values.ndim)))


READERS = {"netcdf": _netcdf, "csv": _csv, "npy": _npy, "python": _python, "heads": _heads, "budget": _budget}


# ---- the file of a member -------------------------------------------------------------------------------------------------------


def signature_of(fields: Mapping[str, MemberField]) -> dict[str, Any]:
    """What must be equal in all members: types, dimensions and their lengths, and the hash of the coordinates."""
    return {name: _described(one) for name, one in fields.items()}


def _described(one: MemberField) -> dict[str, Any]:
    coordinates = {dim: [*_short(each), each.values.tolist()] for dim, each in one.coordinates.items()}
    return {"type": one.kind, "dims": list(one.dims), "shape": list(one.values.shape), "coordinates": hashed(coordinates)}


def _short(one: MemberField) -> list[Any]:
    return [one.kind, list(one.values.shape)]


def hashed(value: Any) -> str:
    import hashlib

    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()


def difference(of: Mapping[str, Any], wanted: Mapping[str, Any], whom: str) -> str:
    """The first difference of a member's fields from `wanted`, the fields of `whom`, as a sentence; "" if they are equal."""
    for name, expected in wanted.items():
        found = of.get(name)
        if found == expected:
            continue
        if found is None:
            return f"field '{name}' is missing"
        for key, label in (("type", "type"), ("dims", "dimensions"), ("shape", "shape")):
            if found[key] != expected[key]:
                return f"field '{name}' has {label} {_text(found[key])}, and {_text(expected[key])} in {whom}"
        return f"field '{name}' has other coordinates than in {whom}"
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"({', '.join(map(str, value))})"


def write_member(fields: Mapping[str, MemberField], path: Path) -> None:
    """Writes all arrays of the member, and the entry ABOUT that describes them. Raises OSError."""
    arrays: dict[str, Array] = {}
    about: dict[str, Any] = {}
    for name, one in fields.items():
        arrays[f"v{len(arrays)}"] = one.values
        entry = {"values": f"v{len(arrays) - 1}", "dims": one.dims, "attributes": one.attributes, "coordinates": {}}
        for dim, each in one.coordinates.items():
            arrays[f"v{len(arrays)}"] = each.values
            entry["coordinates"][dim] = {"values": f"v{len(arrays) - 1}", "attributes": each.attributes}  # type: ignore[index]
        about[name] = entry
    with path.open("wb") as file:
        np.savez(file, **{ABOUT: np.frombuffer(json.dumps(about).encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fdatasync(file.fileno())


def read_member(path: Path) -> dict[str, MemberField]:
    """Reads a file of `write_member`. Raises OSError, ValueError, KeyError or zipfile.BadZipFile if it is damaged."""
    with np.load(path, allow_pickle=False) as file:
        about = json.loads(file[ABOUT].tobytes())
        return {
            name: MemberField(
                file[entry["values"]],
                tuple(entry["dims"]),
                entry["attributes"],
                {dim: MemberField(file[each["values"]], (dim,), each["attributes"]) for dim, each in entry["coordinates"].items()},
            )
            for name, entry in about.items()
        }


def path_of(folder: Path, member: int) -> Path:
    return folder / f"{member // 1000:03d}" / f"{member:06d}.npz"
