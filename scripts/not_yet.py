"""Reads scripts/not_yet.toml, the list of what does not pass a check yet. Reports entries that pass now: the list only shrinks."""

from __future__ import annotations

import tomllib
from pathlib import Path

LIST = Path(__file__).resolve().parent / "not_yet.toml"


def entries(check: str, path: Path = LIST) -> list[str]:
    return list(tomllib.loads(path.read_text()).get(check, [])) if path.exists() else []


def report_passing(check: str, passing: list[str]) -> None:
    for entry in passing:
        print(f"note: {entry} passes now: remove it from the list `{check}` of scripts/{LIST.name}")
