"""What is asked of the bundles of earlier runs, as `tailraced take` reads it: the path of a file, or a folder with a slash."""

from __future__ import annotations


def files_below(folder: str) -> str:
    """All files below the folder are to be taken out."""
    return f"{folder}/"


def removed_folder(folder: str) -> str:
    """The folder was removed, and so were the files below it that are in bundles."""
    return f"/{folder}"


def is_of_folder(words: str) -> bool:
    """Whether this is not the path of a file. Then other nodes have nothing to do with it."""
    return words.startswith("/") or words.endswith("/")
