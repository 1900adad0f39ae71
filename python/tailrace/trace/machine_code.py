"""Finds the places where x86-64 code makes system calls without the C library."""

from __future__ import annotations

import bisect
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

from tailrace.trace.elf import DAMAGE, NotElf

SYSCALL = b"\x0f\x05"
# `mov $N,%eax` or `mov $N,%rax` in the bytes before the instruction: the last one counts. Or `xor %eax,%eax` directly before it.
NUMBER = re.compile(rb"\xb8(..\x00\x00)|\x48\xc7\xc0(..\x00\x00)|(?:\x31|\x33)\xc0$", re.DOTALL)
BYTES_BEFORE = 16
LONGEST_FUNCTION = 1 << 20  # bytes; code farther behind a beginning belongs to no known function
# The head of .eh_frame_hdr, as linkers write it (Linux Standard Base, 10.6.2): version, three encodings, count. The table has pairs
# of int32, relative to the section.
FRAMES = struct.Struct("<B3BiI")
ENCODINGS = (1, 0x1B, 0x03, 0x3B)


@dataclass(frozen=True)
class SystemCalls:
    """The instructions `syscall` in the code of one file. Where the file has a table of functions (for exceptions; stripping keeps
    it), functions are decoded from their beginning. Elsewhere these two bytes may be part of a longer instruction. Where a zero
    follows, they are part of an address and do not count."""

    numbers: dict[int, int]  # system call -> number of places that load its number directly before
    unclear: int  # other places
    by_chance: int  # expected number of such bytes by chance, in code of this size outside of known functions


@lru_cache(maxsize=4096)
def system_calls(path: Path) -> SystemCalls:
    """Finds the instructions `syscall` in a file with x86-64 code. Raises NotElf, OSError."""
    numbers: Counter[int] = Counter()
    unclear = unread = 0
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            functions = _functions(elf)
            for address, code in _code(elf):
                if not functions:
                    unread += len(code)
                for at in _places(code):
                    if _is_inside_instruction(code, address, at, functions):
                        continue
                    number = _number(code, at)
                    if number is None:
                        unclear += 1
                    else:
                        numbers[number] += 1
        except DAMAGE as error:
            raise NotElf(f"{path}: no ELF file, or a damaged one ({error})") from None
    return SystemCalls(dict(numbers), unclear, unread >> 16)


def _functions(elf: Any) -> Sequence[int]:
    """The addresses where functions begin, ascending; empty where the file has no table."""
    section = elf.get_section_by_name(".eh_frame_hdr")
    if section is None or section["sh_size"] < FRAMES.size:
        return ()
    content = section.data()
    *encodings, _, count = FRAMES.unpack_from(content)
    if tuple(encodings) != ENCODINGS or len(content) < FRAMES.size + 8 * count:
        return ()
    relative = struct.unpack_from(f"<{2 * count}i", content, FRAMES.size)[::2]
    return sorted(section["sh_addr"] + begin for begin in relative)


def _code(elf: Any) -> Iterator[tuple[int, bytes]]:
    """The sections of code with their addresses; in a file without sections, the executable segments."""
    sections = [section for section in elf.iter_sections() if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS"]
    if sections:
        yield from ((section["sh_addr"], section.data()) for section in sections)
        return
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & P_FLAGS.PF_X:
            yield segment["p_vaddr"], segment.data()


def _places(code: bytes) -> Iterator[int]:
    at = code.find(SYSCALL)
    while at >= 0:
        if code[at + 2 : at + 3] != b"\0":
            yield at
        at = code.find(SYSCALL, at + 1)


def _is_inside_instruction(code: bytes, address: int, at: int, functions: Sequence[int]) -> bool:
    """Whether the function, decoded from its beginning, has a longer instruction that covers this place."""
    before = bisect.bisect_right(functions, address + at)
    begin = functions[before - 1] - address if before else -1
    if begin < 0 or at - begin > LONGEST_FUNCTION:
        return False
    from iced_x86 import Decoder  # here, because it takes 50 ms and most commands do not need it

    for instruction in Decoder(64, code[begin : at + BYTES_BEFORE], ip=begin):
        if not instruction:  # these bytes are no instruction
            return False
        if instruction.next_ip > at:
            return bool(instruction.ip < at)
    return False


def _number(code: bytes, at: int) -> int | None:
    found = max(NUMBER.finditer(code[max(0, at - BYTES_BEFORE) : at]), key=re.Match.end, default=None)
    if found is None:
        return None
    number = int.from_bytes(found.group(1) or found.group(2) or b"", "little")
    return number if number < 1024 else None
