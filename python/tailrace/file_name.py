"""Names that become a part of a path: of studies, layouts, streams, ensembles, kernels, and of folders of a tree.

The one check of them. A name with `/` or `..` would lead out of its folder, and control characters forge lines of a terminal.
"""

from __future__ import annotations

import unicodedata

MOST_BYTES = 200  # a file system has 255: file names that begin with these are longer
REMEDY = "use letters, digits, '-', '_' or '.'"


def problem_of_part(part: str) -> str | None:
    """Why this cannot be one level of a path, such as the name of a folder; None: it can."""
    if not part:
        return "it is empty"
    if part in (".", ".."):
        return f"'{part}' is another folder"
    if "/" in part:
        return "it has a '/', which leads to another folder"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in part):
        return "it has a control character, or is not UTF-8"
    if len(part.encode()) > MOST_BYTES:
        return f"it has {len(part.encode())} bytes, and at most {MOST_BYTES} fit into a file name"
    return None


def problem_of_name(name: str) -> str | None:
    """Why this cannot be a name with which files begin; None: it can. A leading '.' is refused, because it would hide them."""
    if problem := problem_of_part(name):
        return problem
    return "it begins with '.', which hides files" if name.startswith(".") else None


def problem_of_inner_path(path: str) -> str | None:
    """Why this is no path within a folder, such as `output/history.nc`; None: it is one."""
    if path.startswith("/"):
        return "it begins with '/', so it is in no folder of the run's"
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        return "it names nothing"
    return next((found for part in parts if (found := problem_of_part(part))), None)
