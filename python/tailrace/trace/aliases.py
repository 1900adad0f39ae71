"""Stable aliases of names: of files, directories, hosts and programs. The same name has the same alias, so sums stay as they are.

Kept are only words that belong to every system, known extensions, slashes, and numbers of few digits, which are ranks and steps.
All other text is replaced. Aliases add no digits of their own, because numbers in names decide which files form a group."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(r"(\d+)")
MOST_DIGITS = 5  # of a number that is kept: longer ones are dates, users and jobs
FIRST_LONG = 10**MOST_DIGITS  # the alias of the first longer number
# Folders that tell the system's files from the user's (system_files.py, activity.py), and those that every system has.
KEPT_WORDS = frozenset(
    {"", ".", "..", "?", "usr", "lib", "lib32", "lib64", "libx32", "etc", "opt", "bin", "sbin", "run", "var", "dev", "shm", "proc"}
    | {"sys", "self", "thread-self", "null", "zero", "tty", "urandom", "home", "tmp", "root", "site-packages", "dist-packages"}
)
KEPT_EXTENSIONS: frozenset[str] = frozenset(
    {
        "nc",
        "nc4",
        "h5",
        "hdf5",
        "he5",
        "cdf",
        "bp",
        "zarr",
        "zarray",
        "zattrs",
        "zgroup",
        "zmetadata",
        "json",
        "toml",
        "yaml",
        "yml",
    }
    | {"xml", "csv", "txt", "log", "out", "err", "dat", "bin", "raw", "tmp", "bak", "gz", "zst", "xz", "bz2", "zip"}
    | {"tar", "npy", "npz", "parquet", "pdf", "png", "svg", "html", "py", "pyc", "so", "a", "o", "c", "cpp", "h"}
    | {"hpp", "f", "f90", "F90", "mod", "lammpstrj", "dump", "restart", "data", "in", "nml", "cfg", "conf", "ini", "vtk", "vtu"}
    | {"pvtu", "xdmf", "xmf", "grib", "grb", "silo", "cgns", "exo", "trace", "darshan", "lock", "part"}
)
# Names that are no paths: the tracer makes the first, the kernel the second.
OF_RANKS = re.compile(r"MPI ranks [0-9,-]+( of #[0-9]+)?")
OF_KERNEL = re.compile(r"(socket|pipe):\[[0-9]+\]|anon_inode:\[?[a-z_-]+\]?")


class Aliases:
    """Hands out aliases in the order in which names come: the same log gets the same ones."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, object], int] = {}  # by the kind of name and the name
        self._count: dict[str, int] = {}  # by kind
        self._components: dict[str, str] = {}

    def host(self, name: str) -> str:
        return self._word("node", name) if name else name

    def file(self, name: str) -> str:
        """The alias of a name. A path is replaced component by component."""
        if OF_RANKS.fullmatch(name) or OF_KERNEL.fullmatch(name):
            return name
        if name.startswith(("socket:", "pipe:", "anon_inode:")):
            kind, _, rest = name.partition(":")
            return f"{kind}:{self._word('end', rest)}"
        *folders, last = name.split("/")
        return "/".join([*(self._component(folder, "dir") for folder in folders), self._component(last, "file")])

    def note_folders(self, names: Sequence[str]) -> None:
        """Makes aliases for the folders of these paths first, so that a folder that is also listed as a file gets a folder's
        alias."""
        for name in names:
            for folder in name.split("/")[:-1]:
                self._component(folder, "dir")

    def word(self, text: str) -> str:
        """The alias of any other text: the name of a variable, a place in the program, or a path."""
        return self.file(text) if text.startswith("/") else self._word("name", text)

    def _component(self, text: str, kind: str) -> str:
        if text in KEPT_WORDS or re.fullmatch(r"python[23](\.\d+)?", text):
            return text
        if text not in self._components:
            self._components[text] = self._made(text, kind)
        return self._components[text]

    def _made(self, text: str, kind: str) -> str:
        extension = _extension(text)
        parts = NUMBER.split(text.removesuffix(extension))
        words, numbers = (*parts[::2], extension), [self._number(number) for number in parts[1::2]]
        before = "lib-" if text.startswith("lib") else ""  # folders of the system begin so
        return "".join([before, self._word(kind, words), *(f".{number}" for number in numbers), extension])

    def _number(self, digits: str) -> str:
        return digits if len(digits) <= MOST_DIGITS else str(FIRST_LONG + self._place("number", digits))

    def _word(self, kind: str, key: object) -> str:
        return f"{kind}-{_letters(self._place(kind, key))}"

    def _place(self, kind: str, key: object) -> int:
        if (kind, key) not in self._numbers:
            self._numbers[kind, key] = self._count.get(kind, 0)
            self._count[kind] = self._numbers[kind, key] + 1
        return self._numbers[kind, key]


def _extension(text: str) -> str:
    """The known extension, which stays at the end. A library keeps .so, also with a version behind it."""
    if ".so." in text:
        return ".so"
    before, dot, last = text.rpartition(".")
    return f".{last}" if dot and before and last in KEPT_EXTENSIONS else ""


def _letters(number: int) -> str:
    """a, b ... z, aa, ab ..."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text
