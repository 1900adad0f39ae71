"""Counts, sizes and times as text, for the terminal and for pages."""

from __future__ import annotations

import math


def bytes_text(count: float) -> str:
    """Bytes as text with one decimal and a binary unit: 4.2 MiB."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB"


def count_text(count: int) -> str:
    """A count in groups of three digits: 1 234 567."""
    return f"{count:,}".replace(",", " ")


def number_of(count: int, what: str) -> str:
    """1 bundle, 2 bundles: for words whose plural is formed with an s."""
    return f"{count_text(count)} {what}{'' if count == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """Seconds as text with three significant figures: 12.3 s, 1.00 s, 45.6 ms."""
    for scale, unit in ((1.0, "s"), (1e3, "ms")):
        value = seconds * scale
        if value >= 1:
            return f"{value:.{max(0, 2 - int(math.log10(value)))}f} {unit}"
    return f"{seconds * 1e6:.0f} µs"
