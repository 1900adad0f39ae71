"""The lines of a configuration file that place and stage files, as the user has written them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z_]+)[^=\"']*\]\]?\s*(#.*)?")
TABLES = ("place", "stage")


def lines_to_keep(config: Path) -> str:
    """The lines of the tables [[place.tree]] and [stage]. If these lines alone do not give the same tables: the whole file."""
    text = config.read_text(encoding="utf-8")
    kept: list[str] = []
    is_ours = False
    for line in text.splitlines():
        if found := HEADER.fullmatch(line):
            is_ours = found[1] in TABLES
        if is_ours:
            kept.append(line)
    lines = "\n".join(kept).strip() + "\n"
    return lines if _tables(lines) == _tables(text) else text


def _tables(text: str) -> dict[str, Any] | None:
    """The parsed tables of TABLES. None if the text is not valid TOML."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    return {name: values.get(name) for name in TABLES}
