"""The functions of an ELF file. An address belongs to a function only where the size of its symbol says so. The nearest symbol
below it is often that of another function, because most functions of a library have no symbol."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile

from tailrace.trace.elf import DAMAGE

SYMBOL = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
KIND = 0xF  # the bits of `info` with the kind of a symbol
FUNCTION_KINDS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
PAGE = 4096

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Functions:
    """Sorted by address."""

    base: int  # the address of the file's first byte in memory: offsets in logs count from there
    has_lines: bool  # whether there is debugging information
    begins: Array
    ends: Array
    names: list[bytes]

    def at(self, offset: int) -> str:
        """The mangled name of the function that contains an offset from the base; "" where none does."""
        address = offset + self.base
        place = int(np.searchsorted(self.begins, address, "right")) - 1
        if place < 0 or address >= int(self.ends[place]):
            return ""
        return self.names[place].decode(errors="replace")


@lru_cache(maxsize=256)
def functions_of(path: Path) -> Functions | None:
    """The functions of a file. None if it cannot be read as an ELF file."""
    try:
        with path.open("rb") as file:
            return _read(ELFFile(file))
    except DAMAGE:
        return None


def _read(elf: Any) -> Functions:
    loaded = [segment["p_vaddr"] for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"]
    tables = [elf.get_section_by_name(name) for name in (".symtab", ".dynsym")]
    parts = [_symbols(elf, table) for table in tables if table is not None]
    found = {begin: (end, name) for part in reversed(parts) for begin, end, name in part}  # .symtab has the last word
    begins = sorted(found)
    return Functions(
        base=min(loaded, default=0) // PAGE * PAGE,
        has_lines=elf.get_section_by_name(".debug_info") is not None,
        begins=np.array(begins, np.uint64),
        ends=np.array([found[begin][0] for begin in begins], np.uint64),
        names=[found[begin][1] for begin in begins],
    )


def _symbols(elf: Any, table: Any) -> list[tuple[int, int, bytes]]:
    """Beginning, end and name of each function in a table of symbols."""
    data = table.data()
    symbols = np.frombuffer(data, SYMBOL, len(data) // SYMBOL.itemsize)
    chosen = symbols[np.isin(symbols["info"] & KIND, FUNCTION_KINDS) & (symbols["size"] > 0) & (symbols["section"] != 0)]
    texts = elf.get_section(table["sh_link"]).data()
    return [
        (int(symbol["value"]), int(symbol["value"]) + int(symbol["size"]), texts[at : texts.find(b"\0", at)])
        for symbol in chosen
        if (at := int(symbol["name"])) < len(texts)
    ]
