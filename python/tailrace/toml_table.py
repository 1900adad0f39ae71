"""TOML tables read key by key. Every error names the file, the key, the value and the remedy; a key that is not known is an
error."""

from __future__ import annotations

import datetime
import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.file_name import REMEDY, problem_of_name
from tailrace.regular_file import read_text

_REQUIRED = object()
LARGEST_NUMBER = 1e9  # many are seconds, and the system's clocks take no infinite ones


class TomlError(ValueError):
    """Raised for a file or a key that the user can correct. The text names the key, the value and the remedy."""


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise TomlError(f"{path}: no such file: check its path") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TomlError(f"{path}: {error}") from error


def literal(value: Any) -> str:
    """A value as TOML writes it, on one line. (JSON's escapes of strings are TOML's.)"""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {literal(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(literal(inner) for inner in value) + "]"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


class Table:
    """One table of a file. Each method reads a key, checks its value, and returns it or the default."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where  # for messages: the file, and the table in it
        self.known: set[str] = set()

    def fail(self, key: str, wanted: str) -> TomlError:
        """The error for a value that is not as wanted; to be raised."""
        return TomlError(f"{self.where}: {key} = {self.values[key]!r}: {wanted}")

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        self.known.add(key)
        if key in self.values:
            return self.values[key]
        if default is _REQUIRED:
            near = difflib.get_close_matches(key, self.values, n=1)
            remedy = f"did you write it as `{near[0]}`?" if near else "add it"
            raise TomlError(f"{self.where}: key `{key}` is missing: {remedy}")
        return default

    def typed(self, key: str, kind: type | tuple[type, ...], wanted: str, default: Any = _REQUIRED) -> Any:
        value = self.get(key, default)
        if value is not default and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise self.fail(key, f"must be {wanted}")
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        return self.typed(key, str, "a string", default)

    def name(self, key: str, default: Any = _REQUIRED) -> str:
        """Reads a text that becomes a part of a path. Checks the default, too, because it may be the name of a file or folder."""
        value = self.text(key, default)
        if (problem := problem_of_name(value)) is None:
            return value
        if key in self.values:
            raise self.fail(key, f"{problem}: {REMEDY}")
        raise TomlError(f"{self.where}: without the key `{key}` the name is {value!r}, and {problem}: add `{key}`")

    def names(self, key: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        """Reads a list of texts that become parts of paths."""
        values = self.texts(key, default)
        for value in values:
            if (problem := problem_of_name(value)) is not None:
                raise self.fail(key, f"{value!r}: {problem}: {REMEDY}")
        return values

    def flag(self, key: str, default: Any = _REQUIRED) -> bool:
        return self.typed(key, bool, "true or false", default)

    def table(self, key: str, default: Any = _REQUIRED) -> dict[str, Any]:
        return self.typed(key, dict, "a table", default)

    def number(self, key: str, least: float, default: Any = _REQUIRED) -> float:
        value = self.typed(key, (int, float), f"a number of at least {least:g}", default)
        if not least <= value <= LARGEST_NUMBER:
            raise self.fail(key, f"must be at least {least:g}, and at most {LARGEST_NUMBER:g}")
        return value

    def whole(self, key: str, least: int, default: Any = _REQUIRED) -> int:
        value = self.typed(key, int, f"a whole number of at least {least}", default)
        if value < least:
            raise self.fail(key, f"must be at least {least}")
        return value

    def one_of(self, key: str, choices: Sequence[str], default: Any = _REQUIRED) -> str:
        value = self.text(key, default)
        if value not in choices:
            near = difflib.get_close_matches(value, choices, n=1)
            guess = f"; did you mean '{near[0]}'?" if near else ""
            raise self.fail(key, f"must be one of {', '.join(choices)}{guess}")
        return value

    def texts(self, key: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        value = self.typed(key, list, "a list of strings", default)
        if not all(isinstance(item, str) for item in value):
            raise self.fail(key, "must be a list of strings")
        return tuple(value)

    def wholes(self, key: str, least: int) -> tuple[int, ...]:
        value = self.typed(key, list, f"a list of whole numbers of at least {least}")
        good = all(isinstance(item, int) and not isinstance(item, bool) and item >= least for item in value)
        if not value or not good or len(set(value)) != len(value):
            raise self.fail(key, f"must be a list of different whole numbers of at least {least}")
        return tuple(value)

    def ignore(self, *keys: str) -> None:
        """Accepts keys that other readers of the file use."""
        self.known.update(keys)

    def refuse_unknown(self, more: Iterable[str] = ()) -> None:
        """Raises TomlError for a key that was not read before and is not in `more`."""
        self.known.update(more)
        for key in self.values:
            if key not in self.known:
                near = difflib.get_close_matches(key, self.known, n=1)
                remedy = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(sorted(self.known))}"
                raise TomlError(f"{self.where}: unknown key `{key}`: {remedy}")
