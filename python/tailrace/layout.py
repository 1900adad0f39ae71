"""The layout as a value. Its fields are the keys that the library declares: there is no second list of them here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tailrace.contract import describe_layout, keys, options_toml

PRESET_KEY = "layout"

_CHOICE_NAMES: list[str] = [key["name"] for key in keys()["keys"] if key["name"] != PRESET_KEY]
_Choices: Any = dataclasses.make_dataclass("_Choices", [(name, Any) for name in _CHOICE_NAMES], frozen=True, init=False)


class Layout(_Choices):  # type: ignore[misc]
    """How a step's data reaches storage, checked and completed when it is made.

    Layout("hds", steps="all"), Layout(files=4, writers="one"). Every key of `tailrace keys` is an attribute with its effective
    value; `given` has only what was asked for, which is what a stream is opened with. Two layouts are equal when they have the
    same effect. Raises BadConfig for an unknown key or value; choices that contradict each other, or that this version can only
    plan, are refused by plan and open.
    """

    given: Mapping[str, Any]

    def __init__(self, preset: str | None = None, /, **choices: Any) -> None:
        given = ({PRESET_KEY: preset} if preset is not None else {}) | choices
        effective = describe_layout(given)["layout"]
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _value(effective[field.name]))
        object.__setattr__(self, "given", MappingProxyType(given))

    def replace(self, **choices: Any) -> Layout:
        """This layout with some choices made anew."""
        given = {**self.given, **choices}
        return Layout(given.pop(PRESET_KEY, None), **given)

    def toml(self) -> str:
        """The lines of tailrace.toml that select it."""
        return options_toml(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (dict(self.given),)


def _value(text: Any) -> Any:
    """The library writes all values as text; whole numbers are numbers here."""
    return int(text) if isinstance(text, str) and text.isdecimal() else text


def _unpickled(given: dict[str, Any]) -> Layout:
    return Layout(given.pop(PRESET_KEY, None), **given)
