"""Places of calls in a program. The log has them as OBJECT+0xOFFSET of the instruction after the call."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.trace.functions import functions_of

GFORTRAN_NAME = re.compile(r"__(\w+?)_MOD_(\w+)")  # of a procedure of a module
FORTRAN_LINE = re.compile(r"\.[fF](\d\d|or)?:")
MAINS = ("main", "MAIN__")
TIMEOUT_S = 60


@dataclass(frozen=True)
class Place:
    """A place of a call. Empty texts: not known."""

    site: str  # OBJECT+0xOFFSET
    function: str = ""  # in the language of the program
    line: str = ""  # FILE:LINE

    @property
    def text(self) -> str:
        """What to show: the line, else the function, else the object without its folder and the offset."""
        return self.line or self.function or self.address

    @property
    def address(self) -> str:
        path, plus, offset = self.site.rpartition("+0x")
        return f"{Path(path).name}{plus}{offset}"


def site_texts(sites: Iterable[str]) -> dict[str, str]:
    """The text to show for each place."""
    return {site: place.text for site, place in places_of(sites).items()}


def places_of(sites: Iterable[str]) -> dict[str, Place]:
    """The function and the line of each place, as far as the object has symbols and debugging information."""
    found: dict[str, Place] = {}
    of_object: dict[str, list[str]] = {}
    for site in sites:
        path, _, offset = site.rpartition("+0x")
        found[site] = Place(site)
        if path and is_hexadecimal(offset):
            of_object.setdefault(path, []).append(offset)
    for path, offsets in of_object.items():
        for place in _places(path, offsets):
            found[place.site] = place
    names = sorted({place.function for place in found.values()} - {""})
    plain = dict(zip(names, _demangled(names), strict=True))
    return {site: Place(site, plain.get(place.function, ""), place.line) for site, place in found.items()}


def is_hexadecimal(text: str) -> bool:
    return bool(text) and len(text) <= 16 and set(text) <= set("0123456789abcdef")


def _places(path: str, offsets: list[str]) -> list[Place]:
    functions = functions_of(Path(path))
    if functions is None:
        return []
    before = [max(int(offset, 16) - 1, 0) for offset in offsets]  # the instruction of the call
    names = [functions.at(at) for at in before]
    lines = [("", "")] * len(offsets)
    if functions.has_lines:
        lines = _lines(path, [at + functions.base for at in before])
    return [
        Place(f"{path}+0x{offset}", _function(name, inlined, line), line)
        for offset, name, (inlined, line) in zip(offsets, names, lines, strict=True)
    ]


def _function(symbol: str, inlined: str, line: str) -> str:
    """The name to show. Debugging information also has inlined functions. Its name of a Fortran main program is not used, because
    it does not say what the program does."""
    is_main_program = symbol in MAINS and FORTRAN_LINE.search(line)
    return symbol if is_main_program else inlined or symbol


def _lines(path: str, addresses: list[int]) -> list[tuple[str, str]]:
    """The function and the line of each address, from debugging information. The function may be an inlined one."""
    unknown = [("", "")] * len(addresses)
    output = _output_of(["addr2line", "-fse", path, *map(hex, addresses)])
    if len(output) != 2 * len(addresses):
        return unknown
    # Without a line, the function is a guess. One line may have been compiled into several places (its "discriminators").
    return [
        ("", "") if place.startswith("??") else (function if function != "??" else "", place.split(" (")[0])
        for function, place in zip(output[::2], output[1::2], strict=True)
    ]


def _demangled(names: Sequence[str]) -> list[str]:
    """Names as the program has them: C++ by binutils, procedures of Fortran's modules as MODULE::PROCEDURE."""
    output = _output_of(["c++filt"], "\n".join(names) + "\n") if any(name.startswith("_Z") for name in names) else []
    plain = output if len(output) == len(names) else names
    return [GFORTRAN_NAME.sub(r"\1::\2", name) for name in plain]


def _output_of(command: list[str], given: str = "") -> list[str]:
    """The lines that a program of binutils writes; none where it is not there or fails."""
    if shutil.which(command[0]) is None:
        return []
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
