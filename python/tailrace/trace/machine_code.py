"""Where code of x86-64 asks the kernel by itself, past the C library."""

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
# `mov $N,%eax` or `mov $N,%rax` in the bytes before the instruction, the last of them counts; or `xor %eax,%eax` just before it.
NUMBER = re.compile(rb"\xb8(..\x00\x00)|\x48\xc7\xc0(..\x00\x00)|(?:\x31|\x33)\xc0$", re.DOTALL)
LOOKED_BACK = 16
LONGEST_FUNCTION = 1 << 20  # what lies further behind a beginning is of no known function
# Of .eh_frame_hdr, as linkers write it (Linux Standard Base, 10.6.2): version, three encodings; the table is of pairs of int32,
# relative to the section.
FRAMES = struct.Struct("<B3BiI")
ENCODINGS = (1, 0x1B, 0x03, 0x3B)


@dataclass(frozen=True)
class SystemCalls:
    """Instructions `syscall` in the code of one file. Functions are read from their beginning, where the file has a table of them
    (for exceptions; stripping leaves it). Elsewhere these two bytes may be part of longer instructions; where a zero follows, they
    are the middle of an address, and not counted."""

    numbers: dict[int, int]  # system call -> places that load its number just before
    unclear: int  # other places
    by_chance: int  # as many are to be expected in code of this size that is of no known function


@lru_cache(maxsize=4096)
def system_calls(path: Path) -> SystemCalls:
    """Of x86-64 code. Raises NotElf, OSError."""
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
                    if _within_another(code, address, at, functions):
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
    """Where they begin, ascending; empty: the file does not say."""
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
    """Sections of code, each with its address; where there are no sections, the executable segments."""
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


def _within_another(code: bytes, address: int, at: int, functions: Sequence[int]) -> bool:
    """Whether the function, read from its beginning, has a longer instruction that covers this place."""
    before = bisect.bisect_right(functions, address + at)
    begin = functions[before - 1] - address if before else -1
    if begin < 0 or at - begin > LONGEST_FUNCTION:
        return False
    import capstone  # takes 50 ms, and most commands need none of it

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    for where, size, _, _ in decoder.disasm_lite(code[begin : at + LOOKED_BACK], begin):
        if where + size > at:
            return bool(where < at)
    return False  # what is no instruction came before


def _number(code: bytes, at: int) -> int | None:
    found = max(NUMBER.finditer(code[max(0, at - LOOKED_BACK) : at]), key=re.Match.end, default=None)
    if found is None:
        return None
    number = int.from_bytes(found.group(1) or found.group(2) or b"", "little")
    return number if number < 1024 else None
