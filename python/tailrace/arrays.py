"""Converts values that are put to arrays of the variable's type. Refuses values that would change by the conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace._core as _core
from tailrace.characters import characters_of


def refuse_masked(name: str, values: Any) -> None:
    """Refuses an array with masked elements, because a file stores fill values and no masks."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise _core.ERRORS["BAD_ARGUMENT"](
            f"the array for variable '{name}' has masked elements, and a mask is not stored: "
            "pass array.filled(fill_value), with the variable's fill_value="
        )


def index_list(name: str, indices: Any) -> np.ndarray:
    """Indices as the unsigned 64-bit numbers that the contract takes; it refuses negative ones."""
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        hint = "; pass np.flatnonzero(mask) for a mask" if array.dtype.kind == "b" else ""
        raise TypeError(
            f"variable '{name}': indices is an array of type {array.dtype} and shape {array.shape}; "
            f"it must be a list of integers{hint}"
        )
    return np.ascontiguousarray(array.astype(np.int64 if array.dtype.kind == "i" else np.uint64, copy=False)).view(np.uint64)


def one_dimension(name: str, dims: list[str], along: str | None) -> str:
    """The dimension along which indices count: `along`, or the variable's only dimension. Raises BAD_ARGUMENT if it has several."""
    if along is not None:
        return along
    if len(dims) != 1:
        raise _core.ERRORS["BAD_ARGUMENT"](
            f"variable '{name}' has the dimensions {', '.join(dims)}: say which one the indices count, "
            f"as along={(dims or ['cell'])[0]!r}"
        )
    return dims[0]


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
    """Converts an array that is put whole, as `block_array` does, and makes it contiguous."""
    is_text = variable.holds_characters
    array = np.asarray(characters_of(name, values, variable.shape) if is_text else block_array(name, values, variable))
    return np.ascontiguousarray(array) if array.ndim else array
