"""The lines of a stream's journal, read as docs/format.md says, by the text of its files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def segment_paths(journal: Path) -> list[Path]:
    """The files of the chain, given that of segment 0."""
    paths = [journal]
    while (following := journal.with_name(f"journal.{len(paths):06d}.jsonl")).exists():
        paths.append(following)
    return paths


def last_segment(journal: Path) -> Path:
    return segment_paths(journal)[-1]


def whole_lines(content: bytes) -> list[Line]:
    """Lines that a kill has not cut."""
    return [json.loads(line) for line in content.splitlines(keepends=True) if line.endswith(b'"}\n')]


def journal_lines(journal: Path) -> list[Line]:
    """The lines that count, without the first and the last line of each segment."""
    contents = [path.read_bytes() for path in segment_paths(journal)]
    heads = [next(iter(whole_lines(content)), None) for content in contents]
    begun = [k for k, head in enumerate(heads) if head is not None and (k == 0 or head["kind"] == "segment")]
    lines: list[Line] = []
    number = begun[-1] if begun else None
    until: int | None = None
    while number is not None:
        lines = whole_lines(contents[number][:until]) + lines
        head = heads[number] or {}
        number, until = head.get("follows"), head.get("bytes")
    return [line for line in lines if line["kind"] not in ("segment", "end")]
