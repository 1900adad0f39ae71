"""Patterns of names and targets, as tokens: `{stream}.{rank:number}.{step:number}` and `{rank}/{stream}`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from tailrace.file_name import problem_of_part

MOST_FIELDS, MOST_TOKENS, NAME_BYTES = 8, 32, 255  # as src/place/rules.hpp has them
_FIELD = re.compile(r"\{([^{}]*)\}")
_IN_PATTERN = re.compile(r"([a-z_][a-z0-9_]*)(?::(any|number))?")
_IN_TARGET = re.compile(r"([a-z_][a-z0-9_]*)(?:([/%])([0-9]{1,18}))?")


class Kind(IntEnum):
    """As src/place/rules.hpp numbers them."""

    LITERAL = 1
    ANY = 2
    NUMBER = 3
    QUOTIENT = 4
    REST = 5
    HASH = 6
    SLASH = 7


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str = ""  # of a literal
    field: str = ""
    divisor: int = 0


class PatternError(ValueError):
    """A pattern or a target that the user can correct; the text says how."""


def parse_pattern(text: str) -> tuple[Token, ...]:
    """The pattern of a file's name. Raises PatternError."""
    tokens: list[Token] = []
    for literal, inner in _pieces(text):
        if literal:
            if "/" in literal:
                raise PatternError("a folder of the pattern has a field: only the file's name may have fields")
            tokens.append(Token(Kind.LITERAL, literal))
            continue
        found = _IN_PATTERN.fullmatch(inner)
        if found is None:
            raise PatternError(f"{{{inner}}} is no field: write {{name}} for any text or {{name:number}} for digits")
        kind = Kind.NUMBER if found[2] == "number" else Kind.ANY
        if any(token.field == found[1] for token in tokens):
            raise PatternError(f"the field {found[1]} is used twice: give the second one another name")
        if found[1] == "hash":
            raise PatternError("hash is no name for a field: it is the hash of the whole name")
        if tokens and tokens[-1].kind is kind:
            raise PatternError(
                f"{{{tokens[-1].field}}} and {{{found[1]}}} have no text between them: write the text that separates them"
            )
        tokens.append(Token(kind, field=found[1]))
    _check_room(tokens)
    return tuple(tokens)


def parse_target(text: str, pattern: Sequence[Token]) -> tuple[Token, ...]:
    """The folders below a rule's folder. Raises PatternError."""
    kinds = {token.field: token.kind for token in pattern if token.field}
    tokens: list[Token] = []
    for level, part in enumerate(text.split("/") if not _FIELD.search(text) else _levels(text)):
        if problem := problem_of_part(_FIELD.sub("0", part)):
            raise PatternError(f"{text!r}: the level {part!r}: {problem}: write folders, such as {{rank}}/{{stream}}")
        if level:
            tokens.append(Token(Kind.SLASH))
        for literal, inner in _pieces(part):
            tokens.append(Token(Kind.LITERAL, literal) if literal else _of_target(inner, kinds))
    _check_room(tokens)
    return tuple(tokens)


def _of_target(inner: str, kinds: dict[str, Kind]) -> Token:
    found = _IN_TARGET.fullmatch(inner)
    if found is None:
        raise PatternError(f"{{{inner}}}: write {{field}}, {{field/100}}, {{field%100}} or {{hash%256}}")
    name, sign, divisor = found[1], found[2], int(found[3] or 0)
    if sign and divisor < 1:
        raise PatternError(f"{{{inner}}}: divide by at least 1")
    if name == "hash":
        if sign != "%":
            raise PatternError(f"{{{inner}}}: write {{hash%256}}, where 256 is the number of directories")
        return Token(Kind.HASH, divisor=divisor)
    if name not in kinds:
        raise PatternError(f"{{{inner}}}: the name has no field {name}; it has {', '.join(kinds) or 'none'}")
    if sign and kinds[name] is not Kind.NUMBER:
        raise PatternError(f"{{{inner}}}: only a number can be divided; write {{{name}:number}} in `files`")
    kind = (Kind.QUOTIENT if sign == "/" else Kind.REST) if sign else kinds[name]
    return Token(kind, field=name, divisor=divisor)


def _levels(text: str) -> list[str]:
    """Splits a text at the slashes that are outside of braces."""
    levels, depth = [""], 0
    for c in text:
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c == "/" and depth == 0:
            levels.append("")
        else:
            levels[-1] += c
    return levels


def _pieces(text: str) -> list[tuple[str, str]]:
    """Splits a text into literal texts and the contents of braces."""
    pieces: list[tuple[str, str]] = []
    at = 0
    for found in _FIELD.finditer(text):
        pieces += [(text[at : found.start()], "")] if found.start() > at else []
        pieces.append(("", found[1]))
        at = found.end()
    pieces += [(text[at:], "")] if at < len(text) else []
    for literal, _ in pieces:
        if set(literal) & {"{", "}", "\0"}:
            raise PatternError(f"{text!r} has a brace without its partner")
        if len(literal.encode("utf-8", "surrogateescape")) > NAME_BYTES:
            raise PatternError(f"a text of {text[:20]}... is longer than {NAME_BYTES} bytes")
    return pieces


def _check_room(tokens: Sequence[Token]) -> None:
    if len({token.field for token in tokens if token.field}) > MOST_FIELDS or len(tokens) > MOST_TOKENS:
        raise PatternError(f"it has more than {MOST_FIELDS} fields, or more than {MOST_TOKENS} texts and fields: use fewer")
