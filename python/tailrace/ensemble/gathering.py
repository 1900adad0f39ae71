"""Joins the fields of all members into one NetCDF file along the dimension `member`, through the library.

A program of its own (`python -m tailrace.ensemble.gathering FOLDER`), because the library starts MPI in the process that uses it,
and programs that the ensemble starts later must not inherit that. One member is in memory at a time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tailrace.ensemble import fields
from tailrace.ensemble.fields import FILLS, MemberField
from tailrace.ensemble.folder import Folder
from tailrace.ensemble.member import checksum
from tailrace.ensemble.results import member_lines
from tailrace.ensemble.values import EnsembleError, Value

FILE = "fields.nc"
STREAM = "fields"
NOT_RUN = "not run"
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_", "HYDRA_", "SLURM_")  # variables that make a process one of several ranks
MOST_ERROR_CHARACTERS = 2000
FIRST_TEXT = 1  # shortest length of a variable of text


def gather(out: Path) -> Path:
    """Runs this module as a program of its own, and returns the path of the file. Raises EnsembleError with its message."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(LAUNCHERS)}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    allowed = {name: text for name, text in os.environ.items() if name.startswith("OMPI_ALLOW_RUN_AS_ROOT")}
    command = [sys.executable, "-m", __name__, str(out)]
    done = subprocess.run(
        command, env=environment | allowed, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        raise EnsembleError(done.stderr.strip()[-MOST_ERROR_CHARACTERS:] or f"{out / FILE}: could not be written")
    return out / FILE


def main() -> int:
    try:
        write(Folder(Path(sys.argv[1])).read())
    except EnsembleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def write(folder: Folder) -> None:
    """Writes the file beside its name, compares it with the files of the members, and renames it. Raises EnsembleError."""
    first = next((member for member, _, found in members_of(folder) if found), None)
    if first is None:
        return
    work = folder.out / f".{STREAM}"
    shutil.rmtree(work, ignore_errors=True)
    try:
        _write_stream(folder, work, _fields_of(folder, first, {}))
        import tailrace

        beside = folder.out / f".{FILE}"
        tailrace.combine(work, STREAM, beside, replace=True)
        _compare(folder, beside)
        beside.replace(folder.out / FILE)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def members_of(folder: Folder) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
    """Yields every member with its line, and the line's entry of fields. Both are empty for a member that has not run; the entry is
    empty for one that failed."""
    number = 0
    for line in member_lines(folder):
        for absent in range(number, line["member"]):
            yield absent, {}, {}
        number = line["member"] + 1
        yield line["member"], line, {} if line["reason"] else line.get("fields", {})
    for absent in range(number, folder.heads[-1]["members"] if folder.heads else 0):
        yield absent, {}, {}


def _fields_of(folder: Folder, member: int, expected: Mapping[str, Any]) -> dict[str, MemberField]:
    path = fields.path_of(folder.fields, member)
    try:
        if expected and (path.stat().st_size, checksum(path)) != (expected["size"], expected["checksum"]):
            raise EnsembleError(f"{path}: is damaged: remove it; `tailrace ensemble resume` then runs member {member} again")
        return fields.read_member(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, EnsembleError):
            raise
        raise EnsembleError(f"{path}: {error}: remove it; `tailrace ensemble resume` then runs member {member} again") from None


def _write_stream(folder: Folder, work: Path, first: Mapping[str, MemberField]) -> None:
    import tailrace

    names, kinds = _parameters(folder, first)
    with tailrace.open(work, STREAM, layout="single", steps="all", time="member", mode="replace") as stream:
        _define(stream, folder, first)
        for name, kind in kinds.items():
            stream.var(names[name], (), kind, fill_value=None if kind.startswith("S") else FILLS[kind])
        stream.var("reason", (), f"S{_longest_reason(folder)}", long_name="why the member failed; empty for a good one")
        for member, line, found in members_of(folder):
            with stream.step(time=float(member)) as step:
                given = line.get("parameters", {})
                for name, kind in kinds.items():
                    step[names[name]] = _parameter(given.get(name), kind)
                step["reason"] = _text(line.get("reason", NOT_RUN))
                if found:
                    for name, one in _fields_of(folder, member, found).items():
                        step[name] = one.values


def _define(stream: Any, folder: Folder, first: Mapping[str, MemberField]) -> None:
    stream.attributes(ensemble=json.dumps(folder.heads))
    stream.attributes("member", long_name="number of the member")
    written: set[str] = set()
    for one in first.values():
        for dim, length in zip(one.dims, one.values.shape, strict=True):
            if dim not in stream.dimensions:
                stream.dim(dim, length)
            if dim in one.coordinates and dim not in written and dim not in first:
                each = one.coordinates[dim]
                stream.coord(dim, each.values, (dim,), **_attributes(each))
                written.add(dim)
    for name, one in first.items():
        fill = one.attributes.get("_FillValue", FILLS[one.kind])
        stream.var(name, one.dims, one.kind, fill_value=fill, **_attributes(one))


def _attributes(one: MemberField) -> dict[str, Any]:
    return {name: value for name, value in one.attributes.items() if name != "_FillValue" and value not in ("", [])}


def _parameters(folder: Folder, first: Mapping[str, MemberField]) -> tuple[dict[str, str], dict[str, str]]:
    """For each parameter: the name of its variable, and its type. A name that a field or dimension has gets the prefix
    `parameter_`."""
    parameters = folder.heads[-1]["parameters"]
    taken = {"member", "reason", *first, *(dim for one in first.values() for dim in one.dims)}
    names = {name: f"parameter_{name}" if name in taken else name for name in parameters}
    kinds = dict.fromkeys(parameters, "f8")
    texts = [name for name in parameters if name in folder.texts]
    longest = dict.fromkeys(texts, FIRST_TEXT)
    for line in member_lines(folder) if texts else ():
        for name in texts:
            longest[name] = max(longest[name], len(str(line.get("parameters", {}).get(name, "")).encode()))
    return names, kinds | {name: f"S{length}" for name, length in longest.items()}


def _parameter(value: Value | None, kind: str) -> Any:
    if kind.startswith("S"):
        return _text("" if value is None else str(value))
    return FILLS[kind] if value is None else float(value)


def _text(value: str) -> Any:
    import numpy as np

    return np.array(value.encode())


def _longest_reason(folder: Folder) -> int:
    return max(len(NOT_RUN), *(len(line["reason"]) for line in member_lines(folder)))


def _compare(folder: Folder, path: Path) -> None:
    """Compares the whole file with the members' own files. Raises EnsembleError if they differ."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        for at, (member, _, found) in enumerate(members_of(folder)):
            good = int(dataset["member"][at]) == member
            for name, one in _fields_of(folder, member, found).items() if found else ():
                good = good and np.asarray(dataset[name][at]).tobytes() == one.values.tobytes()
            if not good:
                raise EnsembleError(
                    f"{path}: member {member} reads back different from what it wrote: run `tailrace ensemble resume`"
                )


if __name__ == "__main__":
    sys.exit(main())
