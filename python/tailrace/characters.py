"""Strings: numpy's arrays of bytes of one length (S8) are arrays of characters (S1) with one dimension more, the fastest."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace._core as _core

CODE = "S1"


def is_string(dtype: Any) -> bool:
    """Whether a type is one of strings of a given length, which a variable stores as characters."""
    described = np.dtype(dtype)
    return described.kind == "S" and described.itemsize > 1


def length_dimension(dtype: Any) -> tuple[str, int]:
    """The dimension of the characters of a type S<k>, named as xarray names it, and its length."""
    length = np.dtype(dtype).itemsize
    return f"string{length}", length


def as_characters(strings: np.ndarray) -> np.ndarray:
    """The same memory, whatever its strides, with the characters as the last dimension."""
    return strings[..., np.newaxis].view(CODE)


def characters_of(name: str, values: Any, shape: tuple[int, ...]) -> Any:
    """What is put into a variable of characters of this shape. Characters stay as they are. Strings, also Python's as UTF-8, are
    padded with zero bytes to the last dimension. Other arrays are left for the type check."""
    array = np.asarray(values)
    if array.dtype.kind == "U":
        array = np.char.encode(array, "utf-8")
    if array.dtype.kind != "S" or not shape or (array.dtype == CODE and array.ndim == len(shape)):
        return array
    length = shape[-1]
    if array.dtype.itemsize > length:
        raise _core.ERRORS["BAD_SHAPE"](
            f"variable '{name}' holds strings of {length} bytes, the array has type {array.dtype.str[1:]}; "
            f"cut it with array.astype('S{length}') or define the variable longer"
        )
    return as_characters(array.astype(f"S{length}", copy=False)) if length else array[..., np.newaxis][..., :0]
