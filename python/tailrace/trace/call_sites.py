"""Places in a program, as the log has them: OBJECT+0xOFFSET of the instruction behind a call."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


def site_texts(sites: Iterable[str]) -> dict[str, str]:
    """What to show for each: its line, or else its function, where the object has them (binutils' addr2line); else OBJECT+0xOFFSET
    without the folder."""
    texts: dict[str, str] = {}
    of_object: dict[str, list[str]] = {}
    for site in sites:
        path, _, offset = site.rpartition("+0x")
        texts[site] = f"{Path(path).name}+0x{offset}" if path else site
        if path and is_hexadecimal(offset):
            of_object.setdefault(path, []).append(offset)
    for path, offsets in of_object.items():
        for offset, text in zip(offsets, _places(path, offsets), strict=True):
            if text:
                texts[f"{path}+0x{offset}"] = text
    return texts


def is_hexadecimal(text: str) -> bool:
    return bool(text) and set(text) <= set("0123456789abcdef")


def _places(path: str, offsets: list[str]) -> list[str]:
    """Of the instructions before these; "" where nothing is known."""
    nothing = [""] * len(offsets)
    if shutil.which("addr2line") is None or not Path(path).is_file():
        return nothing
    addresses = [hex(max(int(offset, 16) - 1, 0)) for offset in offsets]
    command = ["addr2line", "-Cfse", path, *addresses]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return nothing
    lines = asked.stdout.splitlines()
    if asked.returncode != 0 or len(lines) != 2 * len(offsets):
        return nothing
    return [_text(function, place) for function, place in zip(lines[::2], lines[1::2], strict=True)]


def _text(function: str, place: str) -> str:
    """A line that was compiled into several functions is one place."""
    if not place.startswith("??"):
        return place.split(" (")[0]
    return "" if function == "??" else function
