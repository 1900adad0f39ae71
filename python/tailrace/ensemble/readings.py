"""Results from a member's output files. Each reader raises MemberError where a result is missing or malformed."""

from __future__ import annotations

import csv
import importlib.util
import io
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tailrace.ensemble import pest
from tailrace.ensemble.values import FLOPY_KINDS, EnsembleError, MemberError, Reading, Value
from tailrace.regular_file import read_text

netcdf_lock = threading.Lock()  # neither netCDF4 nor its HDF5 may be called by two threads


def read_results(readings: Sequence[Reading], home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """All results of a member. Raises MemberError."""
    found: dict[str, Value] = {}
    for reading in readings:
        try:
            found |= READERS[reading.kind](reading, home, directory, parameters)
        except MemberError:
            raise
        except EnsembleError as error:
            raise MemberError("malformed", f"result '{reading.name}': {error}") from None
        except FileNotFoundError as error:
            raise MemberError("missing", f"result '{reading.name}': {error.filename}: no such file") from None
        except (Exception, SystemExit) as error:
            raise MemberError("malformed", f"result '{reading.name}': {type(error).__name__}: {error}") from None
    return found


def result_names(readings: Sequence[Reading], home: Path) -> tuple[str, ...]:
    """The columns of the results. Raises EnsembleError where one name is used twice, or a file of instructions is malformed."""
    names = []
    for reading in readings:
        names += list(_instructions(str(home / reading.pattern)).names) if reading.kind == "ins" else [reading.name]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EnsembleError(f"[results]: two results have the name '{twice}'")
    for reading in readings:
        if reading.kind == "regex":
            try:
                re.compile(reading.pattern)
            except re.error as error:
                raise EnsembleError(f"[results] {reading.name}: regex: {error}") from None
    return tuple(names)


def _text(reading: Reading, directory: Path) -> str:
    path = directory / reading.file
    text = read_text(path, errors="replace")
    if not text.strip():
        raise MemberError("missing", f"result '{reading.name}': {reading.file} is empty")
    return text


def _number(text: str, reading: Reading) -> Value:
    """A number, also with Fortran's D. Other text stays text."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    try:
        return float(re.sub(r"(?<=[\d.])[dD](?=[-+\d])", "e", text))
    except ValueError:
        if not text or set(text) <= set("*"):  # Fortran writes stars where a number does not fit
            raise MemberError("malformed", f"result '{reading.name}': {reading.file}: '{text}' is no value") from None
        return text


def _regex(reading: Reading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    found = list(re.finditer(reading.pattern, _text(reading, directory), re.MULTILINE))
    if not found:
        raise MemberError("malformed", f"result '{reading.name}': {reading.file}: nothing fits {reading.pattern!r}")
    match = found[0 if reading.which == "first" else -1]
    return {reading.name: _number(match[1] if match.re.groups else match[0], reading)}


def _csv(reading: Reading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    rows = [row for row in csv.reader(io.StringIO(_text(reading, directory)), skipinitialspace=True) if row]
    heading = [name.strip() for name in rows[0]]
    if reading.pattern not in heading:
        raise MemberError(
            "malformed", f"result '{reading.name}': {reading.file}: no column '{reading.pattern}' in {', '.join(heading)}"
        )
    at = heading.index(reading.pattern)
    try:
        cell = rows[1:][reading.row][at]
    except IndexError:
        raise MemberError(
            "malformed", f"result '{reading.name}': {reading.file}: no row {reading.row} of {len(rows) - 1}"
        ) from None
    return {reading.name: _number(cell, reading)}


def _netcdf_variable(reading: Reading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    import netCDF4
    import numpy as np

    path = directory / reading.file
    if not path.exists():
        raise MemberError("missing", f"result '{reading.name}': {reading.file}: no such file")
    with netcdf_lock, netCDF4.Dataset(path) as dataset:
        if reading.pattern not in dataset.variables:
            known = ", ".join(dataset.variables)
            raise MemberError(
                "malformed", f"result '{reading.name}': {reading.file}: no variable '{reading.pattern}'; it has {known}"
            )
        values: Any = dataset.variables[reading.pattern][reading.index or ...]
    values = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).reshape(-1)
    if values.size == 0:
        raise MemberError("malformed", f"result '{reading.name}': {reading.file}: variable '{reading.pattern}' has no element")
    return {reading.name: float(values[-1] if reading.reduce == "last" else getattr(values, reading.reduce)())}


def _python(reading: Reading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    value = function_of(str(home / reading.pattern.partition(":")[0]), reading.pattern.partition(":")[2])(
        directory, dict(parameters)
    )
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return {reading.name: value}
    try:
        return {reading.name: float(value)}
    except (TypeError, ValueError):
        raise MemberError("malformed", f"result '{reading.name}': the function returned {value!r}, which is no number") from None


@cache
def function_of(path: str, name: str) -> Callable[[Path, dict[str, Value]], Any]:
    module_spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    found: Callable[[Path, dict[str, Value]], Any] = getattr(module, name)
    return found


def _ins(reading: Reading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    return dict(pest.apply(_instructions(str(home / reading.pattern)), _text(reading, directory)))


@cache
def _instructions(path: str) -> pest.Instructions:
    return pest.read_instructions(Path(path))


def _flopy(reading: Reading, home: Path, directory: Path, parameters: Mapping[str, Value]) -> dict[str, Value]:
    from tailrace.ensemble import modflow

    try:
        values = modflow.READERS[reading.kind](directory / reading.file, reading.pattern, reading.time)
        return {reading.name: modflow.one_value(values, reading.index, reading.reduce)}
    except MemberError as error:
        raise MemberError(error.reason, f"result '{reading.name}': {reading.file}: {error.message}") from None


Reader = Callable[[Reading, Path, Path, Mapping[str, Value]], dict[str, Value]]
READERS: dict[str, Reader] = {
    "regex": _regex,
    "csv": _csv,
    "netcdf": _netcdf_variable,
    "python": _python,
    "ins": _ins,
    **dict.fromkeys(FLOPY_KINDS, _flopy),
}
