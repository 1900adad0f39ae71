"""Functions of the C library: which concern files, which are recorded, and why the others are not."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tailrace.trace.elf import read_elf

LIST = Path(__file__).with_name("unrecorded.toml")
UNLISTED = "unlisted"
# Names about files or descriptors. The rest of the C library (strings, threads, time) is not considered.
ABOUT_FILES = re.compile(
    r"open|close|read|write|seek|stat|sync|trunc|falloc|dir|link|access|rename|remove|mk(no|fi|st|te)|chmod|chown|utime|dup|fcntl"
    r"|mmap|splice|sendfile|copy_file|put[cws]|get[cws]|getline|getdelim|printf|scanf|flush|lockf|xattr|aio|lio_|exec|spawn|fork"
    r"|syscall|tmpfile|fts|ftw|glob|memfd|tee|advise"
)
NOT_ABOUT_FILES = re.compile(
    r"pthread|sched|wmem|s[nw]?printf|s[w]?scanf|asprintf|strdup|strndup|thread|duplocale|initstate"
    r"|get(pw|gr|sp|serv|proto|host|sg|subopt|sid|source|secret|cpu|context)"
    r"|backtrace|re(g|_)exec|setstate|printf_|(sg|sp)ent|xdr_|clnt_|svc|rpc_"
    r"|envz_|res_|clock_|wcsdup"
)


def concerns_files(symbol: str) -> bool:
    return bool(ABOUT_FILES.search(symbol)) and not NOT_ABOUT_FILES.search(symbol)


@dataclass(frozen=True)
class SymbolLists:
    """The recorded functions of the C library, from the tracer's library; the others with their reasons, from unrecorded.toml."""

    hooked: frozenset[str]
    reasons: dict[str, str]  # reason -> text: why functions with this reason are not recorded
    gaps: frozenset[str]  # reasons that may leave data of a program unrecorded
    listed: dict[str, str]  # function -> reason

    @classmethod
    def of(cls, library: Path) -> SymbolLists:
        """Raises NotElf, OSError."""
        table = tomllib.loads(LIST.read_text())
        listed = {symbol: reason for reason, symbols in table["symbols"].items() for symbol in symbols}
        reasons = {**table["reasons"], UNLISTED: "neither recorded nor listed: its effect on files is not recorded"}
        return cls(read_elf(library).exports, reasons, frozenset([*table["gaps"], UNLISTED]), listed)

    @cached_property
    def known(self) -> frozenset[str]:
        return self.hooked | self.listed.keys()

    def unrecorded(self, imports: frozenset[str]) -> dict[str, list[str]]:
        """reason -> functions of `imports` that concern files and are not recorded."""
        found: dict[str, list[str]] = {}
        for symbol in sorted(imports - self.hooked):
            if symbol in self.listed or concerns_files(symbol):
                found.setdefault(self.listed.get(symbol, UNLISTED), []).append(symbol)
        return found


def c_library_files() -> tuple[str, ...]:
    """Prefixes of the names of files that the C library reads by itself."""
    return tuple(tomllib.loads(LIST.read_text())["files"])
