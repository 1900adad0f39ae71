"""Checksums of the content of a NetCDF or HDF5 file: groups, types, variables, values and attributes, wherever the file stores
them.

Not in them: creation times and addresses of the file's own structure, chunks, filters, and the order of names. The library that
reads may crash or hang for a damaged file, so this is a program of its own: contents.py starts it, with limits."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.child_python import end_with_parent

BLOCK_BYTES = 32 << 20  # most bytes that are read at a time
OBJECT_BYTES = 1 << 10  # assumed size of a value of variable length
MOST_PARTS = 200_000  # most variables and attributes of a file, and most objects
MEMORY_BYTES = 2 << 30
CACHE_BYTES = 64 << 20  # of chunks
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
CLASSIC_SIGNATURES = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
MOST_USER_BLOCK = 1 << 30
LINKS_OWN = "REFERENCE_LIST"  # netCDF and HDF5 write it from the DIMENSION_LIST of the others

Digests = dict[str, str]


def format_of(path: str) -> str:
    """The format of a file: "hdf5" (also NetCDF-4), "classic" (NetCDF-3), or "" for any other. Raises OSError."""
    with open(path, "rb") as file:
        start = file.read(8)
        if start[:4] in CLASSIC_SIGNATURES:
            return "classic"
        at = 0  # HDF5: behind a user block of 512 bytes, or a doubling of it
        while at < MOST_USER_BLOCK and len(start) == len(HDF5_SIGNATURE):
            if start == HDF5_SIGNATURE:
                return "hdf5"
            at = max(2 * at, 512)
            file.seek(at)
            start = file.read(8)
    return ""


def digests_of(path: str) -> Digests:
    """A checksum for each part of the file, by its name; of attributes: NAME@ATTRIBUTE. Raises what its library raises."""
    return _Hdf5(path).digests() if format_of(path) == "hdf5" else _classic(path)


class _Digest:
    def __init__(self, *said: object) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.add(repr(said).encode(errors="surrogatepass"))

    def add(self, data: bytes) -> None:
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def add_unframed(self, data: bytes) -> None:
        """Adds bytes without their length: for values read in blocks, because the sizes of blocks must not change the checksum."""
        self._hash.update(data)

    def text(self) -> str:
        return self._hash.hexdigest()


def blocks(shape: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Blocks of an array of at most `most` elements, or one; together they are all elements in C order."""
    whole, inner = len(shape), 1  # from this dimension on a block has all
    while whole > 0 and inner * shape[whole - 1] <= most:
        whole -= 1
        inner *= max(shape[whole], 1)
    if 0 in shape:
        return
    behind = tuple(slice(0, length) for length in shape[whole:])
    if whole == 0:
        yield behind
        return
    step = max(most // inner, 1)
    for outer in itertools.product(*(range(length) for length in shape[: whole - 1])):
        before = tuple(slice(at, at + 1) for at in outer)
        for at in range(0, shape[whole - 1], step):
            yield (*before, slice(at, min(at + step, shape[whole - 1])), *behind)


class _Hdf5:
    """Computes the checksums of an HDF5 file. Soft and external links are not followed: their text counts. An object with several
    names is read under the first one."""

    def __init__(self, path: str) -> None:
        import h5py

        self.h5py: Any = h5py
        self.path = path
        self.found: Digests = {}
        self.first_names: dict[tuple[int, int], str] = {}

    def digests(self) -> Digests:
        with self.h5py.File(self.path, "r", locking=False, rdcc_nbytes=CACHE_BYTES) as self.file:
            if block := self.file.userblock_size:
                with open(self.path, "rb") as file:
                    self._put("user block", hashlib.blake2b(file.read(block), digest_size=16).hexdigest())
            names = list(self._names())  # references are by these, so all are known before the first one is read
            for name in names:
                self._object(name, self.file[name])
        return self.found

    def _put(self, name: str, digest: str) -> None:
        if len(self.found) == MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS:,} variables and attributes")
        self.found[name] = digest

    def _address(self, found: Any) -> tuple[int, int]:
        info = self.h5py.h5o.get_info(found.id)
        return info.fileno, info.addr

    def _names(self) -> Iterator[str]:
        """Yields a name of each object: its first name in alphabetical order."""
        waiting = ["/"]
        while waiting:
            name = waiting.pop()
            found = self.file[name]
            first = self.first_names.setdefault(self._address(found), name)
            if first != name:
                self._put(name, _Digest("same as", first).text())
                continue
            yield name
            if len(self.first_names) > MOST_PARTS:
                raise ValueError(f"it has more than {MOST_PARTS:,} objects")
            if isinstance(found, self.h5py.Group):
                waiting += reversed(list(self._members(name, found)))

    def _members(self, name: str, group: Any) -> Iterator[str]:
        for key in sorted(group):
            inner = f"{name.rstrip('/')}/{key}"
            link = group.get(key, getlink=True)
            if isinstance(link, self.h5py.SoftLink):
                self._put(inner, _Digest("link", link.path).text())
            elif isinstance(link, self.h5py.ExternalLink):
                self._put(inner, _Digest("external link", link.filename, link.path).text())
            else:
                yield inner

    def _object(self, name: str, found: Any) -> None:
        self._attributes(name, found)
        if isinstance(found, self.h5py.Dataset):
            self._put(name, self._dataset(found))
        elif isinstance(found, self.h5py.Datatype):
            self._put(name, _Digest("type", self._type_text(found.dtype)).text())
        else:
            self._put(name, _Digest("group").text())

    def _attributes(self, name: str, found: Any) -> None:
        for key in found.attrs:
            if key == LINKS_OWN:
                continue
            dtype = found.attrs.get_id(key).dtype
            value = found.attrs[key]
            if isinstance(value, self.h5py.Empty):
                self._put(f"{name}@{key}", _Digest("null", self._type_text(dtype)).text())
                continue
            array = np.asarray(value) if dtype.kind != "O" or isinstance(value, np.ndarray) else _one(value)
            digest = _Digest("attribute", self._type_text(dtype), np.shape(value))
            self._add(digest, array, dtype)
            self._put(f"{name}@{key}", digest.text())

    def _dataset(self, found: Any) -> str:
        digest = _Digest("variable", self._type_text(found.dtype), found.shape, found.maxshape)
        if found.shape is None:
            return digest.text()
        size = OBJECT_BYTES if found.dtype.hasobject else max(found.dtype.itemsize, 1)
        for block in blocks(found.shape, max(BLOCK_BYTES // size, 1)):
            self._add(digest, np.asarray(found[block] if block else found[()]), found.dtype)
        return digest.text()

    def _type_text(self, dtype: np.dtype[Any]) -> str:
        """The element type as text, without offsets and padding, which are no content."""
        h5py = self.h5py
        if (text := h5py.check_string_dtype(dtype)) is not None:
            return f"text {text.encoding} {text.length}"
        if (of := h5py.check_vlen_dtype(dtype)) is not None:
            return f"any number of {self._type_text(of)}"
        if (names := h5py.check_enum_dtype(dtype)) is not None:
            return f"enumeration {dtype.str} {sorted(names.items())}"
        if (of := h5py.check_ref_dtype(dtype)) is not None:
            return f"{of.__name__}"
        if dtype.names is not None:
            return f"({', '.join(f'{name!r}: {self._type_text(dtype[name])}' for name in dtype.names)})"
        if dtype.subdtype is not None:
            return f"{self._type_text(dtype.subdtype[0])} {dtype.subdtype[1]}"
        return str(dtype.str)

    def _add(self, digest: _Digest, array: np.ndarray, dtype: np.dtype[Any]) -> None:
        if dtype.subdtype is not None:
            dtype = dtype.subdtype[0]
        if dtype.names is not None:
            for name in dtype.names:  # the bytes between fields are not set
                self._add(digest, array[name], dtype[name])
        elif (of := self.h5py.check_ref_dtype(dtype)) is not None:
            if of is not self.h5py.Reference:
                raise ValueError("it has references to regions")
            for reference in array.flat:
                name = self.first_names.get(self._address(self.file[reference]), "no name") if reference else ""
                digest.add(name.encode(errors="surrogateescape"))
        elif dtype.kind == "O":
            inner = self.h5py.check_vlen_dtype(dtype)
            for value in array.flat:
                if isinstance(value, str):
                    digest.add(value.encode(errors="surrogateescape"))
                elif isinstance(value, bytes):
                    digest.add(value)
                else:
                    values = np.asarray(value)
                    digest.add(str(values.shape).encode())
                    self._add(digest, values, inner if inner is not None else values.dtype)
        else:
            digest.add_unframed(np.ascontiguousarray(array).tobytes())


def _one(value: object) -> np.ndarray:
    array = np.empty((), object)
    array[()] = value
    return array


def _classic(path: str) -> Digests:
    import netCDF4

    found: Digests = {}
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        file.set_auto_scale(False)
        file.set_auto_chartostring(False)
        for name, dimension in file.dimensions.items():
            found[f"dimension {name}"] = _Digest(len(dimension), dimension.isunlimited()).text()
        with_attributes: list[tuple[str, Any]] = [("/", file), *file.variables.items()]
        for name, of in with_attributes:
            for key in of.ncattrs():
                value = np.asarray(of.getncattr(key))
                digest = _Digest("attribute", value.dtype.str, value.shape)
                digest.add(value.tobytes())
                found[f"{name}@{key}"] = digest.text()
        for name, variable in file.variables.items():
            digest = _Digest("variable", variable.dtype.str, variable.dimensions, variable.shape)
            for block in blocks(variable.shape, BLOCK_BYTES // variable.dtype.itemsize):
                digest.add_unframed(np.ascontiguousarray(variable[block] if block else variable[...]).tobytes())
            found[name] = digest.text()
    return found


def main() -> None:
    """Reads lines, each the JSON text of a path. Answers each by a line: an object with `digests`, or with `why` there are none."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    end_with_parent(int(sys.argv[1]))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES if most < 0 else min(MEMORY_BYTES, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        path = json.loads(line)
        answer: dict[str, Any]
        try:
            answer = {"digests": digests_of(path)}
        except ModuleNotFoundError as error:
            answer = {"why": f"{error.name} is not installed: `pip install 'tailrace[compare]'`"}
        except Exception as error:  # the library says in many ways that a file is damaged
            said = str(error).replace(path, Path(path).name).splitlines()
            answer = {"why": f"{type(error).__name__}: {said[0] if said else ''}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
