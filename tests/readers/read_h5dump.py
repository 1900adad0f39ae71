"""h5dump: headers as it prints them, values as it writes them in binary."""

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


def attributes_of(text: str) -> dict[str, object]:
    attributes: dict[str, object] = {}
    for name, body in re.findall(r'ATTRIBUTE "([^"]+)" \{(.*?DATA \{.*?)\}', text, re.DOTALL):
        if name in RESERVED:
            continue
        values = re.sub(r"\(\d+\):", "", body.split("DATA {")[1]).strip()
        if values.startswith('"'):
            attributes[name] = text_of(values)
        else:
            numbers = np.array([float(word) for word in values.replace("\n", " ").split(",")])
            attributes[name] = numbers.astype(type_of(body))[0 if len(numbers) == 1 else slice(None)]
    return attributes


def read(path: Path, scratch: Path) -> Seen:
    header = output_of("h5dump", "-A", "-m", "%.17g", path)
    # Datasets of the root are indented by three places.
    pieces = re.split(r'\n   DATASET "([^"]+)" \{', header)
    arrays = {}
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if "This is a netCDF dimension but not a netCDF variable" in text:
            continue
        lengths = re.search(r"SIMPLE \{ \( ([\d, ]+) \)", text.split("ATTRIBUTE")[0])
        shape = tuple(int(word) for word in lengths[1].split(",")) if lengths else ()
        binary = scratch / "dumped.bin"
        output_of("h5dump", "-d", f"/{name}", "-b", "LE", "-o", binary, path)
        dtype = type_of(text)
        arrays[name] = SeenArray(np.fromfile(binary, dtype).reshape(shape), None, attributes_of(text), dtype)
    return Seen(arrays, attributes=attributes_of(pieces[0]))
