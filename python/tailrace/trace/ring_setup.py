"""Finds calls of the C library's `syscall` that set up io_uring: `mov $425, %edi` before the call."""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from tailrace.trace.elf import DAMAGE, NotElf

NUMBERS = frozenset([425, 426, 427])  # io_uring_setup, io_uring_enter, io_uring_register
# `mov $N, %edi`, and a call: by its distance, or through an address in memory. Arguments are set in between.
SETUP = re.compile(rb"\xbf([\xa9-\xab]\x01\x00\x00)")
MOST_BETWEEN = 64  # bytes
LOAD = b"\xbf"
JUMP, CALL_THROUGH, CALL = b"\xff\x25", b"\xff\x15", b"\xe8"


@lru_cache(maxsize=4096)
def rings_by_syscall(path: Path) -> frozenset[int]:
    """The numbers of io_uring with which a file with x86-64 code calls `syscall`. Raises NotElf, OSError."""
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            code = [(section["sh_addr"], section.data()) for section in elf.iter_sections() if _is_code(section)]
            slots = _slots(elf)
            stubs = {at for address, text in code for at in _stubs(address, text, slots)}
            return frozenset(number for address, text in code for number in _numbers(address, text, slots, stubs))
        except DAMAGE as error:
            raise NotElf(f"{path}: no ELF file, or a damaged one ({error})") from None


def _is_code(section: Any) -> bool:
    return bool(section["sh_flags"] & 4) and section["sh_type"] == "SHT_PROGBITS"


def _slots(elf: Any) -> frozenset[int]:
    """The addresses that hold the address of `syscall`."""
    found = set()
    for name in (".rela.plt", ".rela.dyn"):
        relocations = elf.get_section_by_name(name)
        if relocations is None or relocations["sh_link"] == 0:
            continue
        symbols = elf.get_section(relocations["sh_link"])
        for each in relocations.iter_relocations():
            if each["r_info_sym"] and symbols.get_symbol(each["r_info_sym"]).name == "syscall":
                found.add(each["r_offset"])
    return frozenset(found)


def _targets(address: int, text: bytes, instruction: bytes, begin: int, end: int) -> list[tuple[int, int]]:
    """(place, target) of each such instruction with a distance of four bytes."""
    found = []
    at = text.find(instruction, begin, end)
    while at >= 0:
        after = at + len(instruction) + 4
        if after <= len(text):
            found.append((at, address + after + struct.unpack_from("<i", text, after - 4)[0]))
        at = text.find(instruction, at + 1, end)
    return found


def _stubs(address: int, text: bytes, slots: frozenset[int]) -> list[int]:
    """The beginnings of jumps through such a slot: with `endbr64`, with `bnd`, with both, and without."""
    if not slots:
        return []
    places = [address + at for at, target in _targets(address, text, JUMP, 0, len(text)) if target in slots]
    return [place - before for place in places for before in (0, 1, 4, 5)]


def _numbers(address: int, text: bytes, slots: frozenset[int], stubs: set[int]) -> list[int]:
    found = []
    for setup in SETUP.finditer(text) if slots else ():
        begin = setup.end()
        again = text.find(LOAD, begin, begin + MOST_BETWEEN)  # the number of another call
        end = again if again >= 0 else begin + MOST_BETWEEN
        calls = _targets(address, text, CALL, begin, end)
        through = _targets(address, text, CALL_THROUGH, begin, end)
        if any(target in stubs for _, target in calls) or any(target in slots for _, target in through):
            found.append(int.from_bytes(setup.group(1), "little"))
    return found
