"""What is asked of other nodes and of bundles, in the words of `tailraced give` and `tailraced take`: the path of a file, or a form
of it with slashes."""

from __future__ import annotations

NAMES = "//"  # at the end of the words: kNamesIn of src/drain/main.cpp


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
