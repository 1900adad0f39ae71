"""Short labels of call paths: as few functions as tell the paths apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

SEPARATOR = " < "
MOST_FUNCTIONS = 4
# The parameters of a function in C++, at the end of its name; the call operator and functions without a namespace keep theirs.
PARAMETERS = re.compile(r"(?<!operator)\((?!anonymous namespace\)).*$")

Key = TypeVar("Key", bound=Hashable)


class Step(NamedTuple):
    """One function of a path, and where it calls the next one."""

    function: str
    place: str = ""


def labels_of(paths: Mapping[Key, Sequence[Step]], least: int = 1) -> dict[Key, str]:
    """The label of each path: its first functions, `least` of them, and those callers in which it differs from the others that
    begin alike. Paths of the same functions differ by the place of a call, where they have places."""
    parts: dict[Key, list[str]] = {key: [] for key in paths}

    def function_of(key: Key, level: int) -> str:
        path = paths[key]
        return without_parameters(path[level].function) if level < len(path) else ""

    def place_of(key: Key, level: int) -> str:
        path = paths[key]
        return path[level].place if level < len(path) else ""

    def extend(keys: list[Key], level: int) -> None:
        """All `keys` have the same functions below `level`."""
        if level >= max(len(paths[key]) for key in keys):
            add_places(keys)
            return
        groups: dict[str, list[Key]] = defaultdict(list)
        for key in keys:
            groups[function_of(key, level)].append(key)
        for function, group in groups.items():
            if function and (level < least or len(groups) > 1):
                for key in group:
                    parts[key].append(function)
            extend(group, level + 1)

    def add_places(keys: list[Key]) -> None:
        for level in range(max(len(paths[key]) for key in keys)):
            if len({place_of(key, level) for key in keys}) == 1:
                continue
            for key in keys:
                parts[key].append(f"at {place_of(key, level)}")
            return

    if paths:
        extend(list(paths), 0)
    return {key: _joined(texts) for key, texts in parts.items()}


def _joined(texts: list[str]) -> str:
    if len(texts) > MOST_FUNCTIONS:  # the first ones, and the outermost
        texts = [*texts[: MOST_FUNCTIONS - 1], texts[-1]]
    place = texts.pop() if len(texts) > 1 and texts[-1].startswith("at ") else ""
    return SEPARATOR.join(texts) + (f" {place}" if place else "")


def without_parameters(function: str) -> str:
    return PARAMETERS.sub("", function).strip() or function
