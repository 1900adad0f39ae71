"""Input files with the values of a member in them: `{name}` or `{name:format}` in any text, or PEST's template files.

Only a parameter's name between the marks counts, so JSON, YAML, LaTeX and code stay as they are. A single word that is no parameter
is an error, because it may be a mistyped name. A template whose own text has such words can have other marks than braces.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.ensemble import pest
from tailrace.ensemble.values import EnsembleError, MemberError, Value
from tailrace.regular_file import read_text
from tailrace.toml_table import literal

BRACES = ("{", "}")
FORMAT = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%]?")  # of Python
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


def read_template(path: Path, known: Sequence[str], marks: tuple[str, str] = BRACES, target: str = "") -> Text:
    """`.tpl` files begin with PEST's `ptf`. `target`: the member's file, for messages. Raises EnsembleError."""
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise EnsembleError(f"{path}: {error}") from None
    if marks == BRACES and re.match(r"\s*[pj]tf\s+\S", text, re.IGNORECASE):
        parts = tuple(
            part if isinstance(part, str) else Field(part[0], "", part[1]) for part in pest.template_parts(text, str(path))
        )
        for part in parts:
            if isinstance(part, Field) and part.name not in (*known, MEMBER):
                raise EnsembleError(f"{path}: {_no_parameter(part.name, known)}")
        return Text(parts, str(path))
    other = literal({target or path.name: {"file": path.name, "marks": ["<<", ">>"]}})
    remedy = f"Where the file itself has such words, give its template other marks: `templates = {other}`"
    return parse_text(text, known, str(path), marks, remedy)


def parse_text(
    text: str,
    known: Sequence[str],
    where: str,
    marks: tuple[str, str] = BRACES,
    remedy: str = "Write `{ word }`, with blanks, where it is no parameter",
) -> Text:
    """The text's literal parts and fields. `remedy`: what to do where a word between the marks belongs to the text. Raises
    EnsembleError."""
    begin, end = map(re.escape, marks)
    parts: list[str | Field] = []
    at = 0
    for match in re.finditer(rf"{begin}([A-Za-z_]\w*)(?::((?:(?!{begin}|{end}).)*))?{end}", text, re.DOTALL):
        name, form = match.group(1), match.group(2)
        if name in known or name == MEMBER:
            parts += [text[at : match.start()], Field(name, form or "")]
            at = match.end()
        elif form is None or _is_format(form):
            line = text.count("\n", 0, match.start()) + 1
            raise EnsembleError(f"{where}: line {line}: {match.group()}: {_no_parameter(name, known)} {remedy}")
    return Text((*parts, text[at:]), where)


def _is_format(text: str) -> bool:
    """Whether it is a format for a value, such as .4e. `{a: 1}` is none: the text of a file, as of YAML."""
    return text != "" and not text.startswith(" ") and FORMAT.fullmatch(text) is not None


def _no_parameter(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, [*known, MEMBER], n=1)
    remedy = f"did you mean '{near[0]}'?" if near else f"parameters are {', '.join(known) or 'none'}."
    return f"'{name}' is no parameter: {remedy}"
