"""Names of files that were delivered while the program ran, because another node has asked for them: one small file for each name,
in the folder of the log. The preload of all nodes looks there (is_given in src/preload/staging.cpp)."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from tailrace.fnv import fnv1a
from tailrace.json_text import parse_json
from tailrace.place.compiled import write_rules
from tailrace.place.files import RUN_FILE
from tailrace.stage.drain import StageError


def _folder(log: Path) -> Path:
    return log / f"{RUN_FILE}.given"


def _path(log: Path, name: str) -> Path:
    return _folder(log) / f"{fnv1a(os.fsencode(name)):016x}"


def note(log: Path, node: str, name: str) -> None:
    """Notes that the node delivers the file. Raises OSError."""
    _folder(log).mkdir(mode=0o700, exist_ok=True)
    write_rules(_path(log, name), json.dumps({"node": node, "name": name}).encode())


def forget(log: Path, name: str) -> None:
    """Undoes `note`: the file was not delivered."""
    with contextlib.suppress(OSError):
        _path(log, name).unlink()


def read(log: Path, target: str) -> dict[str, str]:
    """The names whose files are at the target, each with the node that has delivered it last. Raises StageError."""
    found = {}
    for path in sorted(_folder(log).glob("[0-9a-f]*")):
        try:
            values = parse_json(path.read_text(encoding="utf-8"))
            name, node = str(values["name"]), str(values["node"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StageError(f"{path}: cannot be read, so names that two nodes have made are not known: {error}") from None
        if os.path.lexists(os.path.join(target, name)):
            found[name] = node
    return found
