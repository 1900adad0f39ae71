"""What is asked of other nodes and of bundles: the path of a file, or a form of it with slashes. `tailraced give` and
`tailraced take` know these words, too, but for those that rename a folder."""

from __future__ import annotations

from dataclasses import dataclass

NAMES = "//"  # at the end of the words: kNamesIn of src/drain/main.cpp
TO = "//"  # between the old and the new name of a folder (kTo of src/preload/ask.hpp)
BACK = "//<"  # at the end of the words


def files_below(folder: str) -> str:
    """All files below the folder are to be taken out of bundles."""
    return f"{folder}/"


def removed_file(path: str) -> str:
    """The program is about to remove or rename the file of this name. If it is in a bundle, too, it is not any more."""
    return f"/{path}"


def names_in(folder: str) -> str:
    """The names of the files in the folder; "": the folder of the run."""
    return f"{folder}{NAMES}"


def is_listing(words: str) -> bool:
    return words.endswith(NAMES)


def listed_folder(words: str) -> str:
    """The folder of a listing."""
    return words.removesuffix(NAMES)


def is_of_bundles(words: str) -> bool:
    """Whether other nodes have nothing to do with it."""
    return not is_listing(words) and (words.startswith("/") or words.endswith("/"))


@dataclass(frozen=True)
class Move:
    """A folder is renamed on the scratch of all nodes but that of the process which renames it at the target. `is_back`: the nodes
    that have renamed it give it its old name again."""

    source: str
    to: str
    is_back: bool


def moved_back(words: str) -> str:
    """The words that undo those of a move."""
    return f"{words}{BACK}"


def move_of(words: str) -> Move | None:
    """The folder that is to be renamed; None: the words ask for something else."""
    source, _, to = words.removesuffix(BACK).partition(TO)
    return Move(source, to, words.endswith(BACK)) if to else None
