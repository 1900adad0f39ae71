"""What is put, as an array: nothing is lost on the way, or it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace._core as _core
from tailrace.characters import characters_of


def refuse_masked(name: str, values: Any) -> None:
    """Files hold fill values and no masks."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise _core.ERRORS["BAD_ARGUMENT"](
            f"the array for variable '{name}' has masked elements, and a mask is not stored: "
            "pass array.filled(fill_value), with the variable's fill_value="
        )


def block_array(name: str, values: Any, variable: Any) -> Any:
    """Plain Python numbers take the variable's type. Arrays have a type, which must be the variable's, and stay as they are.

    `variable` is the stream's handle: it is asked only where that is needed, since each put comes here.
    """
    if hasattr(values, "dtype") or isinstance(values, memoryview):
        return values
    code = variable.code
    try:
        array = np.asarray(values, dtype=code)
    except OverflowError as error:
        raise TypeError(f"variable '{name}' has type {code}: {error}") from None
    if code[0] in "iu" and not np.array_equal(array.astype(object), np.asarray(values, dtype=object)):
        raise TypeError(f"{values!r} does not fit the type {code} of variable '{name}'; round it first")
    return array


def whole_array(name: str, values: Any, variable: Any) -> np.ndarray:
    """The same for an array that is put whole: dense."""
    is_text = variable.holds_characters
    array = np.asarray(characters_of(name, values, variable.shape) if is_text else block_array(name, values, variable))
    return np.ascontiguousarray(array) if array.ndim else array
