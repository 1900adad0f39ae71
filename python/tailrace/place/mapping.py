"""Converts logical paths to physical ones and back. Calls the code of the preload library, so both give the same paths."""

from __future__ import annotations

import ctypes
import functools
import os

from tailrace import installed

LIBRARY = "libtailrace-preload.so"
_ROOM = 8192


class MappingError(RuntimeError):
    """The rules or the library cannot be used; the text says why."""


@functools.cache
def _library() -> ctypes.CDLL:
    path = installed.find("lib", LIBRARY)
    if path is None:
        raise MappingError(installed.missing(LIBRARY))
    library = ctypes.CDLL(str(path))
    library.tailrace_place_problem.restype = ctypes.c_char_p
    library.tailrace_place_problem.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    for function in (library.tailrace_place_physical, library.tailrace_place_logical):
        function.restype = ctypes.c_int64
    library.tailrace_place_physical.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32)]
    library.tailrace_place_logical.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    library.tailrace_place_staged.restype = ctypes.c_int64
    library.tailrace_place_staged.argtypes = library.tailrace_place_physical.argtypes
    library.tailrace_place_is_tree.restype = ctypes.c_int
    library.tailrace_place_is_tree.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    return library


def problem_of(data: bytes) -> str | None:
    """A text that says what is wrong with a rules file; None: nothing."""
    text = _library().tailrace_place_problem(data, len(data))
    return None if text is None else text.decode()


class Mapping:
    """The rules of a rules file. Paths are absolute and have neither `.` nor `..`."""

    def __init__(self, data: bytes) -> None:
        if problem := problem_of(data):
            raise MappingError(f"the rules cannot be used: {problem}")
        self._data = ctypes.create_string_buffer(data, len(data))  # aligned, and alive as long as this
        self._to = ctypes.create_string_buffer(_ROOM)
        self._rule = ctypes.c_int32()

    def physical(self, path: str) -> tuple[str, int] | None:
        """The physical path of a file, and the number of its rule. None: it matches no rule, so its physical path is its own."""
        size = _library().tailrace_place_physical(self._data, os.fsencode(path), self._to, ctypes.byref(self._rule))
        return (os.fsdecode(self._to.raw[:size]), self._rule.value) if size > 0 else None

    def staged(self, path: str) -> tuple[str, int] | None:
        """The path on scratch at which a file is made, and the number of its pattern of [stage]; None: it matches no pattern."""
        size = _library().tailrace_place_staged(self._data, os.fsencode(path), self._to, ctypes.byref(self._rule))
        return (os.fsdecode(self._to.raw[:size]), self._rule.value) if size > 0 else None

    def logical(self, path: str) -> str | None:
        """The logical path of a file in a tree. None: the file is in no tree, or no rule puts a file there."""
        size = _library().tailrace_place_logical(self._data, os.fsencode(path), self._to)
        return os.fsdecode(self._to.raw[:size]) if size > 0 else None

    def is_tree(self, folder: str, name: str) -> bool:
        """Whether a directory of this folder may belong to a rule's tree."""
        return bool(_library().tailrace_place_is_tree(self._data, os.fsencode(folder), os.fsencode(name)))
