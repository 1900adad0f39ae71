"""Streams and steps: what a model calls.

The calls marked collective are made by every rank of the communicator in the same order, as in the C contract.
"""

from __future__ import annotations

import json
import operator
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, SupportsIndex

import numpy as np

import tailrace._core as _core
from tailrace.arrays import block_array, index_list, one_dimension, refuse_masked, whole_array
from tailrace.attributes import TYPED_AS_VARIABLE, attribute_value, type_code
from tailrace.characters import CODE, characters_of, is_string, length_dimension
from tailrace.communicator import fortran_handle
from tailrace.contract import options_toml, path_text, stored_name
from tailrace.times import is_date, number_of

RAGGED: int = _core.RAGGED  # the length of a dimension that is another in every step


def open(
    directory: str | os.PathLike[str],
    name: str,
    *,
    comm: Any = None,
    layout: Any = None,
    resume_before: float | None = None,
    **keys: Any,
) -> Stream:
    """Opens the stream `name` in `directory` for writing; collective.

    `comm` is an mpi4py communicator, by default MPI_COMM_WORLD. `layout` is a preset ("hds", "split:4"), a Layout or a mapping;
    `keys` are further configuration keys, as `tailrace keys` lists them: steps="all", durability="step". tailrace.toml and the
    environment are stronger than both. An existing stream is appended to, unless mode="replace" or mode="resume". With "resume" its
    steps from the time of the first new step on leave; with `resume_before`, which implies that mode, those at or after that time.
    """
    if resume_before is not None:
        keys["resume_before"] = float(resume_before)
    return Stream(directory, name, fortran_handle(comm), options_toml(layout, **keys))


class Stream:
    """A named series of output steps; made by tailrace.open. A context manager that closes, which is collective."""

    _core: Any = None  # none where the opening has failed: such an object can be closed, too

    def __init__(self, directory: str | os.PathLike[str], name: str, comm: int, options: str) -> None:
        self.name = name
        self.directory = path_text(directory)
        self._time_attributes: dict[str, Any] = {}  # those set here
        self._handles: dict[str, Any] = {}  # of variables that were looked up: a put then needs no search
        self._core = _core.Stream(comm, self.directory, name, options)

    def dim(self, name: str, length: int) -> None:
        """Names a dimension and its global length; RAGGED: as many elements in each step as the ranks put, with steps=1."""
        self._core.define_dim(name, length)

    @property
    def dimensions(self) -> dict[str, int]:
        """The length of each dimension; RAGGED where it is another in every step."""
        return self._core.dimensions

    @property
    def variables(self) -> dict[str, dict[str, Any]]:
        """Type, dimensions and shape of each variable, as a Reader has them."""
        dims = list(self.dimensions)
        return {name: self._description(self._variable(name), dims) for name in self._core.variable_names}

    def coord(self, name: str, values: Any, dims: Sequence[str] | None = None, **attributes: Any) -> None:
        """A coordinate that every rank has whole and that stays the same: coord("lat", latitudes, units="degrees_north").

        Its dimension, if not defined yet, is defined with the length of `values`. `dims` names others, for coordinates such as
        lat(y, x).
        """
        refuse_masked(name, values)
        array = np.asarray(values, order="C")
        if array.dtype.kind == "U":
            array = np.char.encode(array, "utf-8")
        if dims is None:
            dims, array = (name,), np.atleast_1d(array)
            if array.ndim == 1 and stored_name(name, self.dimensions) not in self.dimensions:
                self.dim(name, array.shape[0])
        self.var(name, dims, array.dtype, static=True, replicated=True, **attributes)
        self.put_static(name, array)

    def var(
        self,
        name: str,
        dims: Iterable[str] = (),
        dtype: Any = "f8",
        *,
        static: bool = False,
        replicated: bool = False,
        fill_value: Any = None,
        **attributes: Any,
    ) -> None:
        """Names a variable over dimensions defined before; the time dimension comes first by itself.

        `static`: the same in all steps. `replicated`: every rank has the whole array; a variable without dimensions always is.
        A type S8 makes a variable of characters over one more dimension, "string8", defined when it is not there yet.
        With `fill_value` the blocks of a step may leave gaps. `attributes` go to the file as they are (units=, long_name= ...).
        """
        names = (dims,) if isinstance(dims, str) else tuple(dims)
        if not names:
            replicated = True
        if is_string(dtype):
            dim, length = length_dimension(dtype)
            if dim not in self.dimensions:
                self.dim(dim, length)
            names, dtype = (*names, dim), CODE
        code = type_code(dtype)
        flags = (_core.STATIC if static else 0) | (_core.REPLICATED if replicated else 0)
        self._core.define_var(name, code, names, flags)
        if fill_value is not None:
            self._attribute(name, "_FillValue", fill_value)
        self.attributes(name, **attributes)

    def attributes(self, variable: str | None = None, /, **values: Any) -> None:
        """Sets attributes of a variable ("time" is the time coordinate), or of the stream: texts, numbers, or lists of them."""
        for name, value in values.items():
            self._attribute(variable, name, value)

    def step(self, time: Any) -> Step:
        """An output step: `with stream.step(time) as step: step.put(...)`. Leaving the block commits it, which is collective.

        `time` is a number, or a date in the units and the calendar of the time coordinate: datetime, numpy.datetime64, cftime. A
        date without a zone is in UTC.
        """
        if is_date(time):
            time = number_of(time, self._time_attributes)
        return Step(self, time)

    def put_static(self, name: str, values: Any) -> None:
        """Hands over a replicated static variable outside of a step."""
        variable = self._variable(name)
        refuse_masked(name, values)
        self._core.put_replicated(variable, whole_array(name, values, variable))

    @property
    def step_count(self) -> int:
        """Steps committed or in flight, those of earlier runs and those no longer kept included: the number of the next one."""
        return self._core.step_count()

    @property
    def closed(self) -> bool:
        return self._core is None or self._core.closed

    def report(self) -> dict[str, Any]:
        """What was asked for and what is in force, where the files are, and the seconds of each stage on this rank."""
        return json.loads(self._core.report())

    def flush(self) -> None:
        """Waits until every step so far is committed, where `overlap` lets steps be in flight; collective, between steps."""
        self._core.flush()

    def close(self) -> None:
        """Writes the index and leaves the files as plain tools expect them; collective. A second call does nothing."""
        if self._core is not None:
            self._core.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except _core.Error as second:  # the first error is the one to be seen
            error.add_note(f"closing stream '{self.name}' failed too: {second}")

    def __del__(self) -> None:
        # Closing is collective, so it cannot be done when Python happens to collect the object.
        if not self.closed:
            text = f"stream '{self.name}' was not closed: its index may be old until the program ends"
            warnings.warn(text, ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        return f"<tailrace.Stream '{self.name}' in '{self.directory}'{' closed' if self.closed else ''}>"

    def _variable(self, name: str) -> Any:
        """The handle of a variable."""
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = self._core.variable(name)
        return handle

    @staticmethod
    def _description(variable: Any, dims: list[str]) -> dict[str, Any]:
        return {
            "name": variable.name,
            "type": variable.code,
            "dimensions": [dims[dim] for dim in variable.dims],
            "shape": list(variable.shape),
            "static": variable.is_static,
            "replicated": variable.replicated,
        }

    def _attribute(self, variable: str | None, name: str, value: Any) -> None:
        names = self._core.variable_names
        is_variable = variable is not None and stored_name(variable, names) in names  # the time coordinate is none of them
        typed = name in TYPED_AS_VARIABLE and is_variable
        code = self._variable(variable).code if typed and variable else None
        held = attribute_value(name, value, code)
        if isinstance(held, str):
            self._core.put_attr_text(variable or "", name, held)
        elif isinstance(held, list):
            self._core.put_attr_texts(variable or "", name, held)
        else:
            self._core.put_attr(variable or "", name, held)
        if variable is not None and not is_variable:
            self._time_attributes[name] = value


class Step:
    """One output time; made by Stream.step. Its arrays are not copied: they stay as they are until the `with` block has ended.

    An exception inside the block abandons the step on every rank. Ranks without the exception get an error at the block's end: with
    the status of a tailrace.Error, with ABANDONED after any other exception. No rank waits, and earlier steps stay.
    """

    def __init__(self, stream: Stream, time: float) -> None:
        self.stream = stream
        self.time = time
        self._is_open = False  # within its `with` block

    def put(
        self,
        name: str,
        values: Any,
        offset: Sequence[SupportsIndex] | None = None,
        *,
        indices: Any = None,
        along: str | None = None,
    ) -> None:
        """Hands over a block of a distributed variable, or the whole of a replicated one.

        A block begins at `offset` in the global array. Without `offset`, the array is the whole global one; over a ragged dimension
        it lies behind the blocks of the ranks before. Several puts of one variable are several blocks. The array has the variable's
        type exactly, and any strides. A variable of characters takes strings; `offset` need not count the characters.

        With `indices` it is no block: element i of `values` along the dimension `along` belongs to indices[i] of the global array,
        and the array is whole along the others. So an unstructured model puts the cells that a rank owns, in any order. `along` may
        be left out where the variable has one dimension. Each index belongs to one rank, once.
        """
        if not self._is_open:
            raise _core.ERRORS["BAD_ORDER"](
                f"put of variable '{name}' outside of its step: put within the block `with stream.step({self.time!r}) as step:`"
            )
        variable = self.stream._variable(name)
        core = self.stream._core
        refuse_masked(name, values)
        if indices is not None:
            self._put_indices(name, values, variable, offset, indices, along)
            return
        if along is not None:
            raise _core.ERRORS["BAD_ARGUMENT"](f"variable '{name}': along={along!r} is for indices=..., which are not given")
        if variable.replicated:
            if offset is not None and any(offset):
                raise _core.ERRORS["BAD_ARGUMENT"](f"variable '{name}' is replicated: it is put whole, without offset={offset!r}")
            core.put_replicated(variable, whole_array(name, values, variable))
            return
        if variable.holds_characters:
            array = characters_of(name, values, variable.shape)
            if offset is not None and len(offset) == len(variable.shape) - 1:
                offset = (*offset, 0)
        else:
            array = block_array(name, values, variable)
        if offset is None:
            offset = _default_offset(name, variable, array)
        core.put(variable, array, [_index(name, start) for start in offset])

    def _put_indices(self, name: str, values: Any, variable: Any, offset: Any, indices: Any, along: str | None) -> None:
        if variable.replicated or offset is not None:
            why = "it is replicated, and put whole" if variable.replicated else f"offset={offset!r} is for blocks"
            raise _core.ERRORS["BAD_ARGUMENT"](f"variable '{name}' is put with indices=..., but {why}")
        names = list(self.stream.dimensions)
        dims = [names[dim] for dim in variable.dims]
        along = one_dimension(name, dims[:-1] if variable.holds_characters else dims, along)
        array = characters_of(name, values, variable.shape) if variable.holds_characters else block_array(name, values, variable)
        self.stream._core.put_indices(variable, array, along, index_list(name, indices))

    def __setitem__(self, name: str, values: Any) -> None:
        """step["total_mass"] = 3.0: a scalar or an array put whole."""
        self.put(name, values)

    def put_all(self, blocks: Mapping[str, Any], offset: Sequence[SupportsIndex] | None = None) -> None:
        """Puts several variables that have the same block."""
        for name, values in blocks.items():
            self.put(name, values, offset)

    def __enter__(self) -> Step:
        self.stream._core.begin_step(self.time)
        self._is_open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_open = False
        if error is None:
            self.stream._core.end_step()
        elif not self.stream.closed:
            reason = f"{type(error).__name__}: {error}"
            status = getattr(error, "status", None) if isinstance(error, _core.Error) else None
            # The name of a file in the text may be no UTF-8.
            self.stream._core.abandon_step(reason.encode(errors="backslashreplace").decode(), status or "ABANDONED")


def _default_offset(name: str, variable: Any, array: Any) -> tuple[int, ...]:
    """That of the whole array; along a ragged dimension, behind the blocks of the ranks before."""
    if variable.is_ragged:
        return (RAGGED,) + (0,) * (len(variable.shape) - 1)
    shape = getattr(array, "shape", None)
    if shape != variable.shape:
        raise _core.ERRORS["BAD_ARGUMENT"](
            f"a block of variable '{name}' of shape {shape} in the global {variable.shape} needs offset=(...), "
            "the index of its first element"
        )
    return (0,) * len(variable.shape)


def _index(name: str, start: SupportsIndex) -> int:
    index = operator.index(start)
    if index < 0:
        raise _core.ERRORS["BAD_ARGUMENT"](f"offset {index} of a block of variable '{name}' is negative; offsets count from 0")
    return index
