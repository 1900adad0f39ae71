"""Reading a stream back, on any number of ranks: what a restart calls.

The calls marked collective are made by every rank of the communicator in the same order, as in the C contract.
"""

from __future__ import annotations

import json
import operator
import os
from bisect import bisect_left
from collections.abc import Sequence
from types import TracebackType
from typing import Any, SupportsIndex

import numpy as np

import tailrace._core as _core
from tailrace.arrays import index_list, one_dimension
from tailrace.attributes import decoded
from tailrace.characters import CODE, as_characters
from tailrace.communicator import fortran_handle
from tailrace.contract import path_text, stored_name


def open_read(directory: str | os.PathLike[str], name: str, *, comm: Any = None, verify: bool = False) -> Reader:
    """Opens the stream `name` in `directory` to read what is committed now, and selects its last step; collective.

    `comm` is an mpi4py communicator, by default MPI_COMM_WORLD: any number of ranks, whatever the stream was written with.
    With `verify` what is read is compared with the checksums that it was written with; `Corrupt` says which bytes are damaged.
    """
    return Reader(directory, name, fortran_handle(comm), verify=verify)


class Reader:
    """A stream's committed steps; made by tailrace.open_read. A context manager that closes, which is collective.

    `steps` and `times` are the numbers and times of the committed steps, `selected` is the number of the one that is read.
    `dimensions` has the length of each, `variables` type, dimensions and shape of each, at the selected step. `row_sizes` has, for
    each ragged dimension, its length in every step.
    """

    def __init__(self, directory: str | os.PathLike[str], name: str, comm: int, *, verify: bool = False) -> None:
        self.name = name
        self.directory = path_text(directory)
        self._core = _core.Reader(comm, self.directory, name)
        if verify:
            self._core.verify_reads(True)
        self._learn()

    def _learn(self) -> None:
        known = json.loads(self._core.inquire())
        self.steps: list[int] = known["steps"]
        self.times: list[float] = known["times"]
        self.selected: int = known["selected"]
        self._is_ragged = any(entry["ragged"] for entry in known["dimensions"])  # lengths differ from step to step
        self.dimensions: dict[str, int] = {entry["name"]: entry["length"] for entry in known["dimensions"]}
        self.variables: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in known["variables"]}
        self.row_sizes: list[dict[str, Any]] = known.get("row_sizes", [])
        self.time_name: str = known["time"]["name"]
        self._attributes = {None: known["attributes"], self.time_name: known["time"]["attributes"]}

    def select(self, step: int) -> None:
        """The step to read from now on, by its number; -1 is the last one, -2 the one before; collective."""
        self._core.select_step(step)
        if self._is_ragged:
            self._learn()
        else:
            self.selected = self.steps[step] if step < 0 else operator.index(step)

    @property
    def time(self) -> float:
        """The time of the selected step."""
        return self.times[bisect_left(self.steps, self.selected)]

    def get(
        self,
        name: str,
        offset: Sequence[SupportsIndex] | None = None,
        count: Sequence[SupportsIndex] | None = None,
        *,
        out: Any = None,
        indices: Any = None,
        along: str | None = None,
    ) -> Any:
        """A hyperslab of a variable at the selected step.

        It begins at `offset`, by default the first element, and has the shape `count`, by default the rest of the array. With `out`
        it has the shape of `out` and is read into it; `out` may have any strides. Characters are read as strings along their last
        dimension (type S8), unless `offset`, `count` or `out` count that dimension, too.

        With `indices` it reads the elements under these indices of the dimension `along`, whole along the others, in their order.
        Then the call is collective: each rank reads a contiguous range, and the ranks exchange what they want. `along` may be left
        out where the variable has one dimension.
        """
        name = stored_name(name, self.variables)
        if indices is not None:
            return self._get_indices(name, offset, count, out, indices, along)
        shape = self._shape(name)
        if self.variables[name]["type"] == CODE and shape and self._asks_for_strings(len(shape), offset, count, out):
            return self._get_strings(name, shape, offset, count, out)
        begin = [operator.index(start) for start in offset] if offset is not None else [0] * len(shape)
        if any(start < 0 for start in begin):
            raise _core.ERRORS["BAD_SHAPE"](f"variable '{name}': offset {tuple(begin)} has a negative number; offsets count from 0")
        if out is None:
            rest = [max(0, length - start) for length, start in zip(shape, begin, strict=False)]
            out = np.empty([operator.index(n) for n in count] if count is not None else rest, dtype=self.variables[name]["type"])
        self._core.get(name, out, begin)
        return out

    def _get_indices(self, name: str, offset: Any, count: Any, out: Any, indices: Any, along: str | None) -> Any:
        try:
            if offset is not None or count is not None:
                raise _core.ERRORS["BAD_ARGUMENT"](f"variable '{name}': give either indices, or offset and count")
            wanted = index_list(name, indices)
            shape = list(self._shape(name))
            dims = list(self.variables[name]["dimensions"])
            code = self.variables[name]["type"]
            if code == CODE and dims:
                code = f"S{max(shape.pop(), 1)}"
                dims.pop()
            along = one_dimension(name, dims, along)
            if along in dims:
                shape[dims.index(along)] = len(wanted)
            if out is None:
                out = np.zeros(shape, dtype=code)
            if list(np.shape(out)) != shape or (code != self.variables[name]["type"] and out.dtype != code):
                raise _core.ERRORS["BAD_SHAPE"](
                    f"variable '{name}': the array to read into has shape {np.shape(out)}; "
                    f"{len(wanted)} indices along '{along}' need {tuple(shape)} of type {code}"
                )
            into = as_characters(out) if code != self.variables[name]["type"] else out
        except BaseException:
            self._core.refuse_indices(name, along or "")  # the other ranks are in this call
            raise
        self._core.get_indices(name, along, wanted, into)
        return out

    def get_at(self, name: str, offset: Sequence[int], out: Any) -> None:
        """Reads into the whole of `out`, from `offset` on: as `get`, for callers that have checked both."""
        self._core.get(name, out, offset)

    def attributes(self, name: str | None = None) -> dict[str, Any]:
        """The attributes of a variable, of the time coordinate, or of the stream: text, a number or an array of numbers."""
        if name not in self._attributes:
            self._shape(str(name))
        return decoded(self._attributes[name] if name in self._attributes else self.variables[str(name)]["attributes"])

    @staticmethod
    def _asks_for_strings(dims: int, offset: Sequence[Any] | None, count: Sequence[Any] | None, out: Any) -> bool:
        asked = [len(numbers) for numbers in (offset, count, None if out is None else out.shape) if numbers is not None]
        return all(length == dims - 1 for length in asked)

    def _get_strings(
        self, name: str, shape: list[int], offset: Sequence[SupportsIndex] | None, count: Sequence[SupportsIndex] | None, out: Any
    ) -> Any:
        length = shape[-1]
        begin = [operator.index(start) for start in offset] if offset is not None else [0] * (len(shape) - 1)
        rest = [max(0, n - start) for n, start in zip(shape, begin, strict=False)]
        if out is None:
            out = np.zeros([operator.index(n) for n in count] if count is not None else rest, dtype=f"S{max(length, 1)}")
        if out.dtype != f"S{length}":
            if length == 0:
                return out
            raise _core.ERRORS["BAD_ARGUMENT"](
                f"variable '{name}' holds strings of {length} bytes, the array to read into has type {out.dtype}; "
                f"pass one of S{length}"
            )
        self.get(name, [*begin, 0], out=as_characters(out))
        return out

    def get_shared(self, name: str) -> Any:
        """The whole of a variable on every rank; one rank of each node reads it; collective."""
        name = stored_name(name, self.variables)
        shape = self._shape(name)
        if self.variables[name]["type"] == CODE and shape and shape[-1]:
            strings = np.zeros(shape[:-1], dtype=f"S{shape[-1]}")
            self._core.get_shared(name, as_characters(strings))
            return strings
        out = np.empty(self._shape(name), dtype=self.variables[name]["type"])
        self._core.get_shared(name, out)
        return out

    def close(self) -> None:
        """Collective. A second call does nothing."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except _core.Error as second:
            if error is None:
                raise
            error.add_note(f"closing the reader of stream '{self.name}' failed too: {second}")

    def __repr__(self) -> str:
        return f"<tailrace.Reader of '{self.name}' in '{self.directory}', step {self.selected}{' closed' if self.closed else ''}>"

    def _shape(self, name: str) -> list[int]:
        if name not in self.variables:
            known = ", ".join(self.variables)
            raise _core.ERRORS["NOT_FOUND"](f"stream '{self.name}' has no variable '{name}'; it has {known}")
        return self.variables[name]["shape"]
