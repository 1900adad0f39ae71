"""ncdump: its text, parsed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tests.readers import Seen, SeenArray, output_of

PROGRAMS = ("ncdump",)
TYPES = {
    "byte": "i1", "ubyte": "u1", "short": "i2", "ushort": "u2", "int": "i4",
    "uint": "u4", "int64": "i8", "uint64": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
SUFFIXES = {"b": "i1", "UB": "u1", "s": "i2", "US": "u2", "U": "u4", "LL": "i8", "ULL": "u8", "f": "f4"}


def number_of(word: str) -> np.generic:
    found = re.fullmatch(r"(-?[\d.]+(?:e[+-]?\d+)?)(b|UB|s|US|ULL|U|LL|f)?", word)
    assert found, word
    whole = re.fullmatch(r"-?\d+", found[1]) is not None
    dtype = np.dtype(SUFFIXES[found[2]] if found[2] else "i4" if whole else "f8")
    return dtype.type(int(found[1]) if whole else float(found[1]))


def attribute_of(text: str) -> object:
    if text.startswith('"'):
        return text.strip('"')
    numbers = [number_of(word) for word in text.split(", ")]
    return numbers[0] if len(numbers) == 1 else np.array(numbers)


def attributes_of(header: str, name: str) -> dict[str, object]:
    lines = re.findall(rf"^\t\t(?:string )?{re.escape(name)}:(\S+) = (.*) ;$", header, re.MULTILINE)
    return {key: attribute_of(value) for key, value in lines}


def read(path: Path, scratch: Path) -> Seen:
    header, data = output_of("ncdump", "-p", "9,17", path).split("\ndata:\n")
    lengths = re.findall(r"^\t(\w+) = (?:UNLIMITED ; // \()?(\d+)", header.split("variables:")[0], re.MULTILINE)
    printed = dict(re.findall(r"^ (\w+) =\s+(.*?) ;$", data, re.DOTALL | re.MULTILINE))
    arrays = {}
    for kind, name, dims in re.findall(r"^\t(\w+) (\w+)(?:\((.*?)\))? ;$", header, re.MULTILINE):
        dtype = np.dtype(TYPES[kind])
        attributes = attributes_of(header, name)
        words = [
            str(attributes["_FillValue"]) if word == "_" else word
            for word in printed[name].replace("\n", " ").replace(" ", "").split(",")
        ]
        values = np.array([int(word) if dtype.kind in "iu" else float(word) for word in words], dtype)
        arrays[name] = SeenArray(values, tuple(dims.split(", ")) if dims else (), attributes, dtype)
    return Seen(arrays, {name: int(length) for name, length in lengths}, attributes_of(header, ""))
