"""What is put, as an array: nothing is lost on the way, or it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace._core as _core
from tailrace.characters import CODE, characters_of


def refuse_masked(name: str, values: Any) -> None:
    """Files hold fill values and no masks."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise _core.ERRORS["BAD_ARGUMENT"](
            f"the array for variable '{name}' has masked elements, and a mask is not stored: "
            "pass array.filled(fill_value), with the variable's fill_value="
        )


def block_array(name: str, values: Any, code: str) -> Any:
    """Plain Python numbers take the variable's type; arrays have a type that must be the variable's, and stay as they are."""
    if hasattr(values, "dtype") or isinstance(values, memoryview):
        return values
    try:
        array = np.asarray(values, dtype=code)
    except OverflowError as error:
        raise TypeError(f"variable '{name}' has type {code}: {error}") from None
    if code[0] in "iu" and not np.array_equal(array.astype(object), np.asarray(values, dtype=object)):
        raise TypeError(f"{values!r} does not fit the type {code} of variable '{name}'; round it first")
    return array


def whole_array(name: str, values: Any, code: str, shape: tuple[int, ...]) -> np.ndarray:
    """The same of an array that is put whole: dense."""
    array = np.asarray(characters_of(name, values, shape) if code == CODE else block_array(name, values, code))
    return np.ascontiguousarray(array) if array.ndim else array
