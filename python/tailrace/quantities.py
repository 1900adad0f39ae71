"""Counts and sizes as text, for the terminal and for pages."""

from __future__ import annotations


def bytes_text(count: float) -> str:
    """4.2 MiB: two figures that matter, binary units."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB"


def count_text(count: int) -> str:
    """1 234 567: in groups of three digits."""
    return f"{count:,}".replace(",", " ")
