"""Functions of the C library: which have to do with files, which are recorded, and which are not, by the reason."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tailrace.trace.elf import read_elf

LIST = Path(__file__).with_name("unrecorded.toml")
UNLISTED = "unlisted"
# Names that speak of files or descriptors; the rest of the C library (strings, threads, time) is not looked at.
OF_FILES = re.compile(
    r"open|close|read|write|seek|stat|sync|trunc|falloc|dir|link|access|rename|remove|mk(no|fi|st|te)|chmod|chown|utime|dup|fcntl"
    r"|mmap|splice|sendfile|copy_file|put[cws]|get[cws]|getline|getdelim|printf|scanf|flush|lockf|xattr|aio|lio_|exec|spawn|fork"
    r"|syscall|tmpfile|fts|ftw|glob|memfd|tee|advise"
)
NOT_OF_FILES = re.compile(
    r"pthread|sched|wmem|s[nw]?printf|s[w]?scanf|asprintf|strdup|strndup|thread|duplocale|initstate"
    r"|get(pw|gr|sp|serv|proto|host|sg|subopt|sid|source|secret|cpu|context)"
    r"|backtrace|re(g|_)exec|setstate|printf_|(sg|sp)ent|xdr_|clnt_|svc|rpc_"
    r"|envz_|res_|clock_|wcsdup"
)


def is_of_files(symbol: str) -> bool:
    return bool(OF_FILES.search(symbol)) and not NOT_OF_FILES.search(symbol)


@dataclass(frozen=True)
class Recorded:
    """What the tracer's library and the list beside it say of the C library's functions."""

    hooked: frozenset[str]
    reasons: dict[str, str]  # reason -> why functions of it are not recorded
    gaps: frozenset[str]  # reasons by which a program's data may be missed
    listed: dict[str, str]  # function -> reason

    @classmethod
    def of(cls, library: Path) -> Recorded:
        """Raises NotElf, OSError."""
        table = tomllib.loads(LIST.read_text())
        listed = {symbol: reason for reason, symbols in table["symbols"].items() for symbol in symbols}
        reasons = {**table["reasons"], UNLISTED: "neither recorded nor known: what it does to files is not seen"}
        return cls(read_elf(library).exports, reasons, frozenset([*table["gaps"], UNLISTED]), listed)

    @cached_property
    def known(self) -> frozenset[str]:
        return self.hooked | self.listed.keys()

    def unrecorded(self, imports: frozenset[str]) -> dict[str, list[str]]:
        """reason -> functions of `imports` that have to do with files and are not recorded."""
        found: dict[str, list[str]] = {}
        for symbol in sorted(imports - self.hooked):
            if symbol in self.listed or is_of_files(symbol):
                found.setdefault(self.listed.get(symbol, UNLISTED), []).append(symbol)
        return found


def own_files() -> tuple[str, ...]:
    """Beginnings of the names of files that the C library opens and reads by itself."""
    return tuple(tomllib.loads(LIST.read_text())["files"])
