"""From Python's values to the text and the typed arrays that attributes and variables hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import tailrace._core as _core

# CF wants these in the type of their variable.
TYPED_AS_VARIABLE = frozenset({"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"})


def type_code(dtype: Any) -> str:
    """The code ("f4") of whatever numpy takes as a type; TypeError for types that cannot be stored."""
    described = np.dtype(dtype)
    code = f"{described.kind}{described.itemsize}"
    if described.kind in "UO":
        raise TypeError(
            f"element type '{described}' cannot be stored: strings of any length have no fixed place in a file; "
            "use bytes of one length, such as 'S16': numpy.char.encode(values, 'utf-8')"
        )
    if code not in _core.TYPES:
        raise TypeError(f"element type '{described}' cannot be stored; use one of {', '.join(_core.TYPES)}")
    if not described.isnative:
        raise TypeError(f"element type '{described.str}' is not in the byte order of this machine; use '{code}'")
    return code


def attribute_value(name: str, value: Any, variable_code: str | None = None) -> str | list[str] | np.ndarray:
    """Text and lists of texts as they are, bytes as characters, numbers as an array of the type they should have in the file."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return np.frombuffer(value, "S1")
    if (texts := _texts(value)) is not None:
        return texts
    is_typed = isinstance(value, np.ndarray | np.generic)
    array = np.ascontiguousarray(value) if is_typed else _array_of_numbers(name, value)
    if variable_code is not None and name in TYPED_AS_VARIABLE:
        return _cast_exactly(name, array, variable_code)
    return array


def _texts(value: Any) -> list[str] | None:
    """Of a list, tuple or one-dimensional array of texts; None: it is something else."""
    if isinstance(value, np.ndarray) and (value.dtype.kind not in "UO" or value.ndim != 1):
        return None
    if not isinstance(value, list | tuple | np.ndarray) or len(value) == 0:
        return None
    return [str(text) for text in value] if all(isinstance(text, str) for text in value) else None


def _array_of_numbers(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.ndim > 1:
        raise TypeError(f"attribute '{name}' is {value!r}; pass text, a number, or a list of texts or of numbers")
    # Plain whole numbers as 32 bits where they fit: older readers know no 64-bit attributes.
    small = np.iinfo(np.int32)
    if array.dtype.kind == "i" and array.size and small.min <= array.min() and array.max() <= small.max:
        return array.astype(np.int32)
    return array


def _cast_exactly(name: str, array: np.ndarray, code: str) -> np.ndarray:
    """In the variable's type; a whole number that does not survive this would mark other values than those meant."""
    with np.errstate(all="ignore"):
        cast = array.astype(code)
    if code[0] in "iu" and not np.array_equal(cast, array):
        raise TypeError(f"attribute '{name}' = {array!r} does not fit the variable's type {code}")
    return cast


def decoded(listed: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Attributes as the library lists them, by name: text, a list of texts, a number or an array of numbers of its own type."""
    values: dict[str, Any] = {}
    for attribute in listed:
        if "texts" in attribute:
            values[attribute["name"]] = list(attribute["texts"])
            continue
        if "text" in attribute:
            values[attribute["name"]] = attribute["text"]
            continue
        data = bytes.fromhex(attribute["hex"])
        if attribute["type"] == "S1":  # a fill value, or text that is not UTF-8
            values[attribute["name"]] = data if attribute["name"] == "_FillValue" else data.decode(errors="surrogateescape")
            continue
        numbers = np.frombuffer(data, attribute["type"])
        values[attribute["name"]] = numbers[0] if numbers.size == 1 else numbers
    return values
