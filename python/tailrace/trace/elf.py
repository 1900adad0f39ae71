"""ELF files: their data for the loader and the linker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# Exceptions of the parser for a damaged file: it trusts the file's contents.
DAMAGE = (ELFError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError, TypeError, ValueError)


class NotElf(ValueError):
    """No ELF file, or a damaged one."""


@dataclass(frozen=True)
class Elf:
    path: Path
    machine: str  # such as EM_X86_64
    bits: int
    executable: bool  # a program, or a library that is also a program
    interpreter: str  # of PT_INTERP; empty: none
    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]  # folders, before LD_LIBRARY_PATH
    runpath: tuple[str, ...]  # folders, after it
    imports: frozenset[str]
    exports: frozenset[str]
    go: bool  # made by the Go compiler


@lru_cache(maxsize=4096)
def read_elf(path: Path) -> Elf:
    """Raises NotElf, OSError."""
    with path.open("rb") as file:
        try:
            return _read(path, ELFFile(file))
        except DAMAGE as error:
            raise NotElf(f"{path}: no ELF file, or a damaged one ({error})") from None


def _read(path: Path, elf: Any) -> Elf:
    tags: dict[str, list[str]] = {}
    flags = 0
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            for tag in section.iter_tags():
                name = tag.entry.d_tag
                if name == "DT_FLAGS_1":
                    flags = tag.entry.d_val
                elif name in ("DT_NEEDED", "DT_SONAME", "DT_RPATH", "DT_RUNPATH"):
                    tags.setdefault(name, []).append(getattr(tag, name[3:].lower()))
    symbols = elf.get_section_by_name(".dynsym")
    imports, exports = _names(symbols) if isinstance(symbols, SymbolTableSection) else (frozenset(), frozenset())
    segments = {segment["p_type"]: segment for segment in elf.iter_segments()}
    interpreter = segments["PT_INTERP"].get_interp_name() if "PT_INTERP" in segments else ""
    position_independent = 0x08000000  # DF_1_PIE: a program, not a library
    return Elf(
        path=path,
        machine=elf["e_machine"],
        bits=elf.elfclass,
        executable=elf["e_type"] == "ET_EXEC" or bool(flags & position_independent) or bool(interpreter),
        interpreter=interpreter,
        soname=next(iter(tags.get("DT_SONAME", [])), ""),
        needed=tuple(tags.get("DT_NEEDED", [])),
        rpath=_folders(tags.get("DT_RPATH", [])),
        runpath=_folders(tags.get("DT_RUNPATH", [])),
        imports=imports,
        exports=exports,
        go=any(elf.get_section_by_name(name) is not None for name in (".go.buildinfo", ".note.go.buildid")),
    )


def _folders(values: list[str]) -> tuple[str, ...]:
    return tuple(folder for value in values for folder in value.split(":") if folder)


def _names(symbols: Any) -> tuple[frozenset[str], frozenset[str]]:
    imports: set[str] = set()
    exports: set[str] = set()
    for symbol in symbols.iter_symbols():
        if symbol.name:
            (imports if symbol["st_shndx"] == "SHN_UNDEF" else exports).add(symbol.name)
    return frozenset(imports), frozenset(exports)
