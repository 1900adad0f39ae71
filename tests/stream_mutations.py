"""Mutations of streams: python -m tests.stream_mutations STREAM SEED COUNT [FIRST]

Each takes a small stream that three ranks wrote. It changes the JSON of a line of the journal and seals the line again, or it
changes bytes, or it puts something else in a file's place. All readers and commands then run on it, one after the other. The engine
of xarray runs by itself on the same mutations: its STREAM is STREAM-xarray. See tests/mutations.py for what is a fault.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.one_process import use_one_process_library

use_one_process_library()  # it begins at once, in each child

import tailrace  # noqa: E402
import tailrace._journal as _journal  # noqa: E402
from tailrace import errors  # noqa: E402

from tests.mutations import INTERNAL, Source, print_faults  # noqa: E402
from tests.odd_values import mutated_bytes, mutated_value  # noqa: E402
from tests.small_streams import NAME, STREAMS, XARRAY, make  # noqa: E402

REFUSED = errors.ERRORS["CORRUPT"]("refused")
MOST_BYTES = 64 << 20  # arrays that are read; a file that is written
DEEP = 200_000
NUMBERS = (-1, 0, 1, 2, 3, 7, 255, 256, 4096, 10**6, 10**12, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 1.5, 1e300, -(2**63))
NAMES = ("", "x", "T", "../../x", "a/b", "T.1", "T.18446744073709551616", "time", "x" * 300, "\x1b[2J", "tailrace_x", "_nc4_x", "é")
TYPES = ("f4", "f8", "i1", "u8", "S1", "c", "", "f16")


# ---- mutations -------------------------------------------------------------------------------------------------------------------


def sealed(line: Any) -> bytes:
    return _journal.line(line if isinstance(line, str) else json.dumps(line, separators=(",", ":")))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of all values in it."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def mutate_line(line: dict[str, Any], rng: random.Random) -> dict[str, Any] | str:
    """A line with another number, type, length, depth or name, with a key too few, or with one twice."""
    kind = rng.randrange(12)
    if kind == 0:
        return mutated_value(line, rng)  # type: ignore[no-any-return]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(places(line))
        numbers = [(at, key) for at, key in found if isinstance(at[key], int | float) and not isinstance(at[key], bool)]
        texts = [(at, key) for at, key in found if isinstance(at[key], str) and key != "kind"]
        lists = [(at, key) for at, key in found if isinstance(at[key], list)]
        if kind <= 5 and numbers:
            at, key = rng.choice(numbers)
            at[key] = rng.choice((*NUMBERS, at[key] + 1, at[key] - 1, 2 * at[key], rng.getrandbits(64)))
        elif kind <= 7 and texts:
            at, key = rng.choice(texts)
            at[key] = rng.choice((*NAMES, *TYPES, at[key] + "0", at[key][:-1], at[key] * 3))
        elif kind == 8 and lists:
            at, key = rng.choice(lists)
            at[key] = at[key] * rng.choice((0, 2, 3)) if rng.random() < 0.7 else at[key][:-1]
        elif kind == 9:
            at, key = rng.choice(found)
            at[key] = json.loads("[" * 100 + "]" * 100) if rng.random() < 0.5 else {str(k): k for k in range(5000)}
        elif found:
            at, key = rng.choice(found)
            del at[key]
        if not line:
            return {"kind": "step"}
    text = json.dumps(line, separators=(",", ":"))
    if kind == 10:
        return text[:-1] + rng.choice((',"plan":0}', ',"kind":"step"}', ',"boxes":[[0,0,0,0,1]]}', ',"step":0}'))
    if kind == 11 and rng.random() < 0.2:
        return text[:-1] + ',"deep":' + "[" * DEEP + "]" * DEEP + "}"
    return line


def mutate_journal(folder: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(folder.rglob("journal*.jsonl")))
    lines = path.read_bytes().splitlines(keepends=True)
    objects: list[Any] = [json.loads(line) for line in lines]
    for line in objects:
        line.pop("sum")
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(objects))
        kind = rng.randrange(10)
        if kind <= 6 and isinstance(objects[at], dict):
            objects[at] = mutate_line(objects[at], rng)
        elif kind == 7:
            objects[at:at] = [objects[at]] * rng.choice((1, 2, 500))
        elif kind == 8:
            other = rng.randrange(len(objects))
            objects[at], objects[other] = objects[other], objects[at]
        elif len(objects) > 1:
            del objects[at]
    content = [sealed(line) for line in objects]
    if rng.random() < 0.1:  # not sealed
        at = rng.randrange(len(content))
        content[at] = mutated_bytes(content[at], rng, [], 16)
    path.write_bytes(b"".join(content))


def mutate_part(folder: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(folder.rglob("*.nc")))
    content = path.read_bytes()
    heads = [(at, 8) for at in range(0, min(4096, len(content) - 8), 8)]
    tails = [(at, 8) for at in range(max(0, len(content) - 8192) // 8 * 8, len(content) - 8, 8)]
    path.write_bytes(mutated_bytes(content, rng, heads + tails, rng.choice((8, 64, 512))))


def replace_file(folder: Path, rng: random.Random) -> None:
    """By what is no file, or by another file."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    other = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = other.read_bytes()
    path.unlink()
    kind = rng.randrange(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to(rng.choice(("/dev/zero", "/dev/null", "/etc/passwd", str(path), str(other))))
    elif kind == 2:
        path.mkdir()
    elif kind == 3:
        path.write_bytes(content)
    elif kind == 4:
        path.write_bytes(b"")


def mutate(folder: Path, rng: random.Random) -> Path:
    kind = rng.randrange(20)
    (mutate_journal if kind < 13 else mutate_part if kind < 19 else replace_file)(folder, rng)
    return folder


# ---- readers and commands --------------------------------------------------------------------------------------------------------


def is_small(entry: dict[str, Any]) -> bool:
    bytes_of = np.dtype("S1" if entry["type"] == "S1" else entry["type"]).itemsize
    for length in entry["shape"]:
        bytes_of *= length
    return bool(bytes_of <= MOST_BYTES)


def read_values(folder: Path) -> None:
    for verify in (False, True):
        with tailrace.open_read(folder, NAME, verify=verify) as reader:
            for step in reader.steps[:5]:
                reader.select(step)
                for name, entry in reader.variables.items():
                    reader.attributes(name)
                    if is_small(entry):
                        refused(reader.get, name)


def read_by_xarray(folder: Path) -> None:
    """With modules that would make each fork of the other commands take 15 ms."""
    import xarray
    from tailrace.xarray_engine import TailraceBackendEntrypoint

    with xarray.open_dataset(folder / f"{NAME}.nc", engine=TailraceBackendEntrypoint, decode_times=False) as dataset:
        for array in dataset.variables.values():
            if array.nbytes <= MOST_BYTES:
                refused(array.load)


def append_step(folder: Path) -> None:
    """A run that goes on with the stream as it is defined there."""
    with tailrace.open_read(folder, NAME) as reader:
        about, dimensions, times = dict(reader.variables), dict(reader.dimensions), list(reader.times)
        known = {name: reader.get(name) for name, entry in about.items() if is_small(entry)}
        attributes = {name: reader.attributes(name) for name in about}
    [described] = tailrace.list_streams(folder, NAME)
    ragged = {entry["name"] for entry in described["dimensions"] if entry["ragged"]}
    layout = described["layout"]
    choices: dict[str, Any] = {"compression": layout.get("compression", "none")}
    if layout.get("steps") != "all":
        choices["keep"] = 2  # which leaves steps
    with tailrace.open(folder, NAME, **choices) as stream:
        for name, length in dimensions.items():
            stream.dim(name, tailrace.RAGGED if name in ragged else length)
        for name, entry in about.items():
            stream.var(
                name, entry["dimensions"], entry["type"], static=entry["static"], replicated=entry["replicated"], **attributes[name]
            )
        with stream.step(max(times, default=0) + 1) as step:
            for name, values in known.items():
                offset = None if about[name]["replicated"] else [0] * values.ndim
                step.put(name, values, offset=offset)


def refused(call: Callable[..., Any], *arguments: Any, **keys: Any) -> bool:
    """Whether it ended with an error for the user."""
    try:
        call(*arguments, **keys)
    except tailrace.Error as error:
        if isinstance(error, INTERNAL):
            raise
        return True
    return False


def run_xarray(folder: Path) -> None:
    if refused(read_by_xarray, folder):
        raise REFUSED


def run_all(folder: Path) -> None:
    """Raises tailrace.Error where one of the readers refused the stream."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    out = folder / "out"
    copy = Path(shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"), symlinks=True, copy_function=copy_or_leave))
    try:
        found = [
            refused(tailrace.list_streams, folder),
            refused(tailrace.verify, folder, NAME),
            refused(tailrace.verify, folder, NAME, deep=True),
            refused(read_values, folder),
            refused(tailrace.combine, folder, NAME, folder / "one.nc"),
            refused(tailrace.convert, folder, NAME, out, layout="single"),
            refused(append_step, copy),
            refused(tailrace.repair, folder, NAME, take_over=True),
            refused(tailrace.verify, folder, NAME, deep=True),
            refused(tailrace.index, folder, NAME, take_over=True),
        ]
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    if any(found):
        raise REFUSED


def copy_or_leave(source: str, target: str) -> None:
    if os.path.isfile(source):
        shutil.copy(source, target)
    else:
        os.mkfifo(target)


SOURCES = {kind: Source(make(kind), mutate, run_all) for kind in STREAMS}
SOURCES |= {f"{kind}{XARRAY}": Source(make(kind), mutate, run_xarray) for kind in STREAMS}

if __name__ == "__main__":
    print_faults(SOURCES, *sys.argv[1:])
