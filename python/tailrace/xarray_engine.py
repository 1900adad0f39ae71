"""xarray.open_dataset(path, engine="tailrace"): a stream as a dataset, read by the library and not through virtual datasets.

So any number of parts can be read with few descriptors, and a part that is missing or damaged is an error. xarray finds this module
by the entry point `xarray.backends`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.variable import Variable

if TYPE_CHECKING:
    from tailrace.steps import Steps

EVERYTHING = slice(None)
MOST_CHUNK_BYTES = 128 << 20  # most bytes of a chunk, as in dask's setting array.chunk-size


def _lengths_of_chunks(shape: tuple[int, ...], element_bytes: int) -> list[int]:
    """The lengths of chunks, which are cut along the first dimensions, so that each has at most MOST_CHUNK_BYTES."""
    lengths = list(shape)
    for axis in range(len(lengths)):
        inner = max(element_bytes * math.prod(lengths[axis + 1 :]), 1)
        lengths[axis] = min(lengths[axis], max(MOST_CHUNK_BYTES // inner, 1))
        if lengths[axis] > 1:
            break
    return lengths


def _hull(index: Any, length: int) -> tuple[int, int, Any]:
    """For an index along one dimension: the first element and the number of elements to read, and the index within these."""
    if isinstance(index, slice):
        chosen = range(length)[index]
        if not chosen:
            return 0, 0, EVERYTHING
        first, last = sorted((chosen[0], chosen[-1]))
        return first, last - first + 1, EVERYTHING if chosen.step == 1 else slice(None, None, chosen.step)
    if np.ndim(index) == 0:
        return int(index) % length, 1, 0
    numbers = np.where(index < 0, index + length, index)
    if numbers.size == 0:
        return 0, 0, EVERYTHING
    first = int(numbers.min())
    return first, int(numbers.max()) - first + 1, numbers - first


def _within(array: Any, indices: list[Any]) -> Any:
    """The array, indexed along each dimension on its own (orthogonal indexing)."""
    for axis in range(len(indices) - 1, -1, -1):  # from the last on: an axis that goes moves none that is still to come
        if indices[axis] is not EVERYTHING:
            array = array[(EVERYTHING,) * axis + (indices[axis],)]
    return array


class StreamArray(BackendArray):
    """A variable of a stream, not read yet."""

    def __init__(self, steps: Steps, name: str, shape: tuple[int, ...], dtype: str) -> None:
        self.steps, self.name, self.shape, self.dtype = steps, name, shape, np.dtype(dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def _read_box(self, indices: Any, inner: list[tuple[int, int, Any]], count: int | None) -> Any:
        """The steps at `indices`, `count` of them, with the hulls `inner` of the other dimensions; None: without steps."""
        offset, counts, local = [h[0] for h in inner], [h[1] for h in inner], [h[2] for h in inner]
        outer = () if count is None else (count,)
        if all(index is EVERYTHING or isinstance(index, int) for index in local):  # what is read is what is wanted
            whole = np.empty((*outer, *counts), self.dtype)
            if whole.size:
                self.steps.read(self.name, indices, offset, whole)
            return _within(whole, [EVERYTHING] * len(outer) + local)
        step = np.empty((1, *counts), self.dtype)
        if indices is None:
            self.steps.read(self.name, None, offset, step[0])
            return _within(step[0], local)
        # Step by step, so that memory holds one hull and not all.
        out = np.empty((*outer, *_within(step[0], local).shape), self.dtype)
        for k, index in enumerate(indices):
            self.steps.read(self.name, [index], offset, step)
            out[k] = _within(step[0], local)
        return out


class StaticArray(StreamArray):
    """A variable without the dimension of steps: it is the same at all steps."""

    def _read(self, key: tuple[Any, ...]) -> Any:
        return self._read_box(None, [_hull(index, n) for index, n in zip(key, self.shape, strict=True)], None)


class VaryingArray(StreamArray):
    """A variable with a value for each step, along the first dimension."""

    def _read(self, key: tuple[Any, ...]) -> Any:
        indices = np.arange(self.shape[0])[key[0]]
        numbers = np.atleast_1d(indices).tolist()
        inner = [_hull(index, n) for index, n in zip(key[1:], self.shape[1:], strict=True)]
        out = self._read_box(numbers, inner, len(numbers))
        return out if indices.ndim else out[0]


class RaggedArray(StreamArray):
    """The elements of all steps one after another along the first dimension, which has another length in each step."""

    def __init__(self, steps: Steps, name: str, shape: tuple[int, ...], dtype: str, lengths: list[int]) -> None:
        super().__init__(steps, name, shape, dtype)
        self.ends = np.cumsum(lengths)

    def _read(self, key: tuple[Any, ...]) -> Any:
        first, count, local = _hull(key[0], self.shape[0])
        inner = [_hull(index, n) for index, n in zip(key[1:], self.shape[1:], strict=True)]
        whole = np.empty((count, *(h[1] for h in inner)), self.dtype)
        done = 0
        while done < count and whole.size:
            step = int(np.searchsorted(self.ends, first + done, side="right"))
            begin = int(self.ends[step - 1]) if step else 0
            now = min(int(self.ends[step]) - first - done, count - done)
            offset = [first + done - begin, *(h[0] for h in inner)]
            self.steps.read(self.name, [step], offset, whole[np.newaxis, done : done + now])
            done += now
        return _within(whole, [local, *(h[2] for h in inner)])


class StreamStore(AbstractDataStore):
    """The variables and attributes of a stream, as xarray takes them before it decodes."""

    __slots__ = ("attributes", "steps", "time_name", "variables")

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        with steps.reader() as reader:
            self.time_name = reader.time_name if steps.numbers else None
            self.attributes = reader.attributes()
            lengths = {entry["dimension"]: entry["lengths"] for entry in reader.row_sizes}
            self.variables = {
                name: self._variable(name, entry, reader.attributes(name), lengths) for name, entry in reader.variables.items()
            }
            if self.time_name is None:
                return
            for entry in reader.row_sizes:
                about = {
                    "long_name": f"number of {entry['dimension']} elements of each step",
                    "sample_dimension": entry["dimension"],
                }
                self.variables[entry["name"]] = Variable((self.time_name,), np.array(entry["lengths"], "i8"), about)
            self.variables[self.time_name] = Variable((self.time_name,), np.array(steps.times), reader.attributes(self.time_name))

    def _variable(self, name: str, entry: dict[str, Any], attributes: dict[str, Any], lengths: dict[str, list[int]]) -> Variable:
        dims, shape, code = tuple(entry["dimensions"]), tuple(entry["shape"]), entry["type"]
        array: StreamArray
        # What dask reads at once: never more than a step, so that it can be small beside the memory.
        chunks: dict[str, int | tuple[int, ...]] = {}
        if dims and dims[0] in lengths:
            rows = lengths[dims[0]]
            array = RaggedArray(self.steps, name, (sum(rows), *shape[1:]), code, rows)
            chunks = dict(zip(dims, (tuple(filter(None, rows)), *shape[1:]), strict=True)) if any(rows) else {}
        elif entry["static"] or self.time_name is None:
            array = StaticArray(self.steps, name, shape, code)
            chunks = dict(zip(dims, _lengths_of_chunks(shape, array.dtype.itemsize), strict=True))
        else:
            array = VaryingArray(self.steps, name, (len(self.steps.numbers), *shape), code)
            dims = (self.time_name, *dims)
            chunks = dict(zip(dims, (1, *_lengths_of_chunks(shape, array.dtype.itemsize)), strict=True))
        encoding: dict[str, Any] = {"dtype": array.dtype}
        if chunks:
            encoding["preferred_chunks"] = chunks
        return Variable(dims, indexing.LazilyIndexedArray(array), attributes, encoding)

    def check_scalars(self, left_out: set[str]) -> None:
        """netCDF allows a variable without dimensions that has the name of one. A dataset of xarray cannot hold both."""
        from tailrace.errors import ERRORS

        kept = {name: variable for name, variable in self.variables.items() if name not in left_out}
        used = {dimension for variable in kept.values() for dimension in variable.dims}
        for name, variable in kept.items():
            if not variable.dims and name in used:
                raise ERRORS["UNSUPPORTED"](
                    f"stream '{self.steps.stream}' has a variable '{name}' without dimensions beside a dimension '{name}', which a "
                    f"dataset of xarray cannot hold; leave it out with drop_variables=['{name}']"
                )

    def get_variables(self) -> dict[str, Variable]:
        return self.variables

    def get_attrs(self) -> dict[str, Any]:
        return self.attributes

    def get_dimensions(self) -> dict[str, int]:
        return {str(name): length for v in self.variables.values() for name, length in v.sizes.items()}

    def get_encoding(self) -> dict[str, Any]:
        return {"unlimited_dims": {self.time_name} if self.time_name else set()}

    def close(self) -> None:
        self.steps.close()


def _place(path: Any, stream: str | None) -> tuple[str, str]:
    """The directory and the name of the stream that the caller means."""
    from tailrace.contract import list_streams
    from tailrace.errors import ERRORS

    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"engine 'tailrace' opens the path of a stream or of its directory, not a {type(path).__name__}")
    text = os.fspath(path)
    if os.path.isdir(text):
        names = [stream] if stream is not None else [entry["name"] for entry in list_streams(text)]
        if len(names) > 1:
            raise ERRORS["BAD_ARGUMENT"](
                f"{text} has several streams: {', '.join(names)}; choose one, as by stream='{names[0]}', or open {names[0]}.nc"
            )
        return text, names[0]
    directory, name = os.path.split(text)
    name = name.removesuffix(".nc")
    if stream is not None and stream != name:
        raise ERRORS["BAD_ARGUMENT"](f"{text} is not of stream '{stream}'; give the directory {directory or '.'}, or no stream")
    return directory or ".", name


class TailraceBackendEntrypoint(BackendEntrypoint):
    """Opens streams that Tailrace has written."""

    description = "Open streams of Tailrace (.nc with a directory .parts beside it), with any number of parts"

    # xarray finds these by itself for an entry point, and not for a class that is passed as `engine`.
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "stream",
        "verify",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """A file of a stream, or a directory that has streams. xarray asks its own engines first."""
        if not isinstance(filename_or_obj, str | os.PathLike):
            return False
        path = Path(filename_or_obj)
        if path.suffix == ".nc":
            return (path.with_suffix(".parts") / "journal.jsonl").exists()
        return path.is_dir() and any(path.glob("*.parts/journal.jsonl"))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        stream: str | None = None,
        verify: bool = False,
    ) -> Any:
        """The committed steps of a stream: of `NAME.nc`, which need not be there, or of a directory with one stream or `stream`.

        `verify` compares what is read with the checksums that it was written with. Further arguments are xarray's.
        """
        from tailrace.steps import Steps  # here: xarray imports every engine to list them

        store = StreamStore(Steps(*_place(filename_or_obj, stream), verify=verify))
        try:
            store.check_scalars({drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ()))
        except BaseException:
            store.close()
            raise
        return StoreBackendEntrypoint().open_dataset(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )
