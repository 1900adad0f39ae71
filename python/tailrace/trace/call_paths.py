"""Call paths of a log: the functions of the program that led to a call.

The text of a path is "OBJECT+0xOFFSET < +0xOFFSET < python FILE:FUNCTION", innermost first. An offset without an object is in the
object before it. Logs of earlier versions have the innermost place alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tailrace.trace.call_sites import MAINS, Place, is_hexadecimal, places_of

SEPARATOR = " < "
PYTHON = "python "
# Python's own modules, and installed ones: they are between a program and its files.
PYTHON_LIBRARY = re.compile(r"^<frozen |/lib(64)?/python3(\.\d+)?/|/(site|dist)-packages/")
START = "_start"  # calls the C library, which calls main


@dataclass(frozen=True)
class Frame:
    """One function of a path, where it calls the next one."""

    place: Place
    is_python: bool = False
    is_library: bool = False  # of Python: its own module, or an installed one

    @property
    def function(self) -> str:
        """The function's name, as it is shown; "" if it has none."""
        return self.place.function

    @property
    def is_main(self) -> bool:
        """Whether its name says nothing about what it does: the whole program, or no name."""
        return not self.function or self.function in (*MAINS, START) or (self.is_python and self.place.site.endswith(":<module>"))


CallPath = tuple[Frame, ...]  # innermost first


def sites_of(text: str) -> list[str]:
    """The places in the text of a path: OBJECT+0xOFFSET, or "python FILE:FUNCTION"."""
    sites: list[str] = []
    last = ""
    for part in text.split(SEPARATOR):
        if part.startswith(PYTHON):
            sites.append(part)
            continue
        path, plus, offset = part.rpartition("+0x")
        if plus and is_hexadecimal(offset):
            last = path or last
            sites.append(f"{last}+0x{offset}")
    return sites


def paths_of(texts: Iterable[str]) -> dict[str, CallPath]:
    """The functions of each path. If a path has Python functions, its C functions are left out: they are modules that Python
    calls."""
    sites = {text: sites_of(text) for text in texts}
    places = places_of({site for of_path in sites.values() for site in of_path if not site.startswith(PYTHON)})
    return {text: _own(tuple(_frame(site, places) for site in of_path)) for text, of_path in sites.items()}


def _frame(site: str, places: dict[str, Place]) -> Frame:
    if not site.startswith(PYTHON):
        return Frame(places[site])
    file, _, function = site.removeprefix(PYTHON).rpartition(":")
    name = Path(file).name if function == "<module>" else function.replace(".<locals>", "")
    return Frame(Place(site, name), is_python=True, is_library=bool(PYTHON_LIBRARY.search(file)))


def _own(path: CallPath) -> CallPath:
    """The path without functions of libraries between the program and its call. If nothing would remain: a longer part."""
    python = tuple(frame for frame in path if frame.is_python)
    own = tuple(frame for frame in python if not frame.is_library)
    return own or python or tuple(frame for frame in path if frame.function != START) or path
