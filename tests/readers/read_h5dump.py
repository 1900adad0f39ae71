"""h5dump: what it prints, parsed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tests.readers import RESERVED, Seen, SeenArray, output_of

PROGRAMS = ("h5dump",)
TYPES = {"H5T_STD_I": "i", "H5T_STD_U": "u", "H5T_IEEE_F": "f"}


def type_of(text: str) -> np.dtype:
    found = re.search(r"DATATYPE\s+(H5T_STD_I|H5T_STD_U|H5T_IEEE_F)(\d+)LE", text)
    assert found, text[:400]
    return np.dtype(f"<{TYPES[found[1]]}{int(found[2]) // 8}")


def text_of(printed: str) -> str:
    """Bytes beyond ASCII are printed as octal numbers, negative ones with 32 bits."""
    octal = re.sub(rb"\\([0-7]{3,11})", lambda found: bytes([int(found[1], 8) & 0xFF]), printed.strip('"').encode())
    return octal.decode().rstrip("\0")


def numbers_of(text: str, dtype: np.dtype) -> np.ndarray:
    number = float if dtype.kind == "f" else int
    return np.array([number(word) for word in text.replace(",", " ").split()], dtype)


def attributes_of(text: str) -> dict[str, object]:
    attributes: dict[str, object] = {}
    for name, body in re.findall(r'ATTRIBUTE "([^"]+)" \{(.*?DATA \{.*?)\}', text, re.DOTALL):
        if name in RESERVED:
            continue
        values = body.split("DATA {")[1].strip()
        if values.startswith('"'):
            attributes[name] = text_of(values)
        else:
            numbers = numbers_of(values, type_of(body))
            attributes[name] = numbers[0 if len(numbers) == 1 else slice(None)]
    return attributes


def read(path: Path, scratch: Path) -> Seen:
    # %.17g keeps every bit of f4 and f8; -y leaves out the indices, -w 0 breaks no line.
    printed = output_of("h5dump", "-m", "%.17g", "-y", "-w", "0", path)
    # Datasets of the root are indented by three places, what is in them by six.
    pieces = re.split(r'\n   DATASET "([^"]+)" \{', printed)
    arrays = {}
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if "This is a netCDF dimension but not a netCDF variable" in text:
            continue
        lengths = re.search(r"SIMPLE \{ \( ([\d, ]+) \)", text.split("ATTRIBUTE")[0])
        shape = tuple(int(word) for word in lengths[1].split(",")) if lengths else ()
        data = re.search(r"\n      DATA \{(.*?)\n      \}", text, re.DOTALL)
        assert data, text[:400]
        dtype = type_of(text)
        arrays[name] = SeenArray(numbers_of(data[1], dtype).reshape(shape), None, attributes_of(text), dtype)
    return Seen(arrays, attributes=attributes_of(pieces[0]))
