"""Input files with the values of a member in them: `{name}` or `{name:format}` in any text, or PEST's template files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.ensemble import pest
from tailrace.ensemble.values import EnsembleError, MemberError, Value
from tailrace.regular_file import read_text

MARK = re.compile(r"\{([A-Za-z_]\w*)(?::([^{}]*))?\}")
MEMBER = "member"  # the member's number, known to every template and command


@dataclass(frozen=True)
class Field:
    name: str
    format: str = ""
    width: int = 0  # of PEST's fields; 0: as long as needed


@dataclass(frozen=True)
class Text:
    """Literal text and fields in turn."""

    parts: tuple[str | Field, ...]
    where: str

    @property
    def names(self) -> set[str]:
        return {part.name for part in self.parts if isinstance(part, Field)}

    def fill(self, values: Mapping[str, Value]) -> str:
        """Raises MemberError."""
        return "".join(part if isinstance(part, str) else self._written(part, values[part.name]) for part in self.parts)

    def _written(self, field: Field, value: Value) -> str:
        if field.width:
            return pest.fitted(value, field.width, field.name, self.where)
        try:
            return format(value, field.format) if field.format else str(value)
        except ValueError as error:
            raise MemberError("parameter", f"{self.where}: {field.name} = {value!r}: format '{field.format}': {error}") from None


def read_template(path: Path, known: Sequence[str]) -> Text:
    """`.tpl` files begin with PEST's `ptf`. Raises EnsembleError."""
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise EnsembleError(f"{path}: {error}") from None
    if re.match(r"\s*[pj]tf\s+\S", text, re.IGNORECASE):
        parts = tuple(
            part if isinstance(part, str) else Field(part[0], "", part[1]) for part in pest.template_parts(text, str(path))
        )
        return _checked(Text(parts, str(path)), known)
    return parse_text(text, known, str(path))


def parse_text(text: str, known: Sequence[str], where: str) -> Text:
    parts: list[str | Field] = []
    at = 0
    for match in MARK.finditer(text):
        parts += [text[at : match.start()], Field(match.group(1), match.group(2) or "")]
        at = match.end()
    return _checked(Text((*parts, text[at:]), where), known)


def _checked(text: Text, known: Sequence[str]) -> Text:
    for name in sorted(text.names - {*known, MEMBER}):
        near = difflib.get_close_matches(name, [*known, MEMBER], n=1)
        remedy = f"did you mean '{near[0]}'?" if near else f"parameters are {', '.join(known) or 'none'}"
        raise EnsembleError(f"{text.where}: '{name}' is no parameter: {remedy}")
    return text
