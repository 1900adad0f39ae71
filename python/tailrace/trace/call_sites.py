"""Places of calls in a program. The log has them as OBJECT+0xOFFSET of the instruction after the call."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


def site_texts(sites: Iterable[str]) -> dict[str, str]:
    """The text to show for each place: its source line, else its function, as addr2line of binutils finds them in the object.
    Without both: OBJECT+0xOFFSET without the folder."""
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
    """The places of the instructions before these offsets; "" where nothing is known."""
    unknown = [""] * len(offsets)
    if shutil.which("addr2line") is None or not Path(path).is_file():
        return unknown
    addresses = [hex(max(int(offset, 16) - 1, 0)) for offset in offsets]
    command = ["addr2line", "-Cfse", path, *addresses]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return unknown
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != 2 * len(offsets):
        return unknown
    return [_text(function, place) for function, place in zip(lines[::2], lines[1::2], strict=True)]


def _text(function: str, place: str) -> str:
    """The line without its discriminator: a line that was compiled into several functions is one place."""
    if not place.startswith("??"):
        return place.split(" (")[0]
    return "" if function == "??" else function
