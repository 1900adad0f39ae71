"""PEST's template and instruction files, read as they are (PEST manual, chapter 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.ensemble.values import EnsembleError, MemberError, Value
from tailrace.regular_file import read_text

NOT_READ = "dum"  # the name of an observation that PEST reads and leaves out


def template_parts(text: str, where: str) -> Iterator[str | tuple[str, int]]:
    """Literal text, and (name, width) of each field. A field is as wide as its two markers and what is between them."""
    head, _, body = text.partition("\n")
    words = head.split()
    if len(words) != 2 or len(words[1]) != 1:
        raise EnsembleError(f"{where}: the first line must be `ptf` and one marker, as in `ptf ~`")
    marker = words[1]
    for line in body.splitlines(keepends=True):
        pieces = line.split(marker)
        if len(pieces) % 2 == 0:
            raise EnsembleError(f"{where}: a field is not closed by {marker}: {line.strip()}")
        for position, piece in enumerate(pieces):
            if position % 2 == 0:
                yield piece
            elif piece.strip():
                yield piece.strip(), len(piece) + 2
            else:
                raise EnsembleError(f"{where}: a field has no name: {line.strip()}")


def fitted(value: Value, width: int, name: str, where: str) -> str:
    """The value in `width` characters, with as many digits as fit, as PEST writes it. Raises MemberError where none fit."""
    if isinstance(value, int | str) and len(str(value)) <= width:
        return str(value).rjust(width)
    if isinstance(value, str):
        raise MemberError("parameter", f"{where}: {name} = {value!r} does not fit into {width} characters")
    best, error = "", float("inf")
    for digits in range(17, 0, -1):
        for text in {
            f"{float(value):.{digits}g}",
            f"{float(value):.{digits - 1}e}",
            _short_exponent(f"{float(value):.{digits - 1}e}"),
        }:
            if len(text) <= width and abs(float(text) - value) < error:
                best, error = text, abs(float(text) - value)
    if not best or (value != 0 and error > 0.5 * abs(value)):
        raise MemberError("parameter", f"{where}: {name} = {value!r} does not fit into {width} characters: widen its field")
    return best.rjust(width)


def _short_exponent(text: str) -> str:
    """1.5e-07 as 1.5e-7."""
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{'-' if found[1] == '-' else ''}{found[2]}", text)


@dataclass(frozen=True)
class Instructions:
    """The lines of an instruction file, as lists of instructions."""

    marker: str
    lines: tuple[tuple[str, ...], ...]
    where: str

    @property
    def names(self) -> tuple[str, ...]:
        found = [_observation(one) for line in self.lines for one in line]
        return tuple(name for name in found if name and name.lower() != NOT_READ)


def read_instructions(path: Path) -> Instructions:
    try:
        lines = read_text(path).splitlines()
    except (OSError, ValueError) as error:
        raise EnsembleError(f"{path}: {error}") from None
    words = lines[0].split() if lines else []
    if len(words) != 2 or words[0].lower() not in ("pif", "jif") or len(words[1]) != 1:
        raise EnsembleError(f"{path}: the first line must be `pif` and one marker, as in `pif @`")
    found: list[tuple[str, ...]] = []
    for line in filter(str.strip, lines[1:]):
        items = tuple(_split(line, words[1], str(path)))
        if items[0] == "&" and found:
            found[-1] += items[1:]
        else:
            found.append(items)
    return Instructions(words[1], tuple(found), str(path))


def _split(line: str, marker: str, where: str) -> Iterator[str]:
    """Instructions of a line. What stands between markers may contain spaces."""
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        if line[at] == marker:
            end = line.find(marker, at + 1)
            if end < 0:
                raise EnsembleError(f"{where}: a text is not closed by {marker}: {line.strip()}")
        else:
            end = at
            while end + 1 < len(line) and not line[end + 1].isspace():
                end += 1
        yield line[at : end + 1]
        at = end + 1


def _observation(instruction: str) -> str:
    match = re.fullmatch(r"!(.+)!|\[(.+)\]\d+:\d+|\((.+)\)\d+:\d+", instruction)
    return next(filter(None, match.groups()), "") if match else ""


def apply(instructions: Instructions, text: str) -> dict[str, float]:
    """The observations in a program's output. Raises MemberError, which names the instruction and the line."""
    lines, row, found = text.splitlines(), -1, {}
    for line in instructions.lines:
        column = 0
        for position, one in enumerate(line):
            row, column, value = _step(instructions, one, lines, row, column, position == 0)
            name = _observation(one)
            if name and name.lower() != NOT_READ:
                found[name] = value
    return found


def _step(instructions: Instructions, one: str, lines: list[str], row: int, column: int, is_first: bool) -> tuple[int, int, float]:
    """Where the cursor is after one instruction, and the number that it has read."""

    def failed(text: str) -> MemberError:
        return MemberError("malformed", f"{instructions.where}: instruction {one}: {text} (line {row + 1} of the output)")

    if one[0] == instructions.marker:
        wanted, rows = one[1:-1], range(row + 1, len(lines)) if is_first else [row]
        for at in rows:
            begin = lines[at].find(wanted, column if at == row else 0)
            if begin >= 0:
                return at, begin + len(wanted), 0.0
        raise failed("the text is not found")
    if re.fullmatch(r"[lL]\d+", one):
        row += int(one[1:])
        if row >= len(lines):
            raise failed("the output has fewer lines")
        return row, 0, 0.0
    if not 0 <= row < len(lines):
        raise failed("no line is chosen: begin with l1 or with a text between markers")
    line = lines[row]
    if one.lower() == "w":
        match = re.compile(r"\S*\s+").match(line, column)
        if match is None:
            raise failed("no white space follows")
        return row, match.end(), 0.0
    if re.fullmatch(r"[tT]\d+", one):
        return row, int(one[1:]) - 1, 0.0
    fixed = re.fullmatch(r"[\[(](.+)[\])](\d+):(\d+)", one)
    if fixed:
        begin, end = int(fixed[2]) - 1, int(fixed[3])
        text = line[begin:end]
    elif re.fullmatch(r"!.+!", one):
        match = re.compile(r"[\s,]*([^\s,]+)").match(line, column)
        text, end = (match[1], match.end()) if match else ("", column)
    else:
        raise EnsembleError(f"{instructions.where}: instruction {one} is not known: l1, w, t1, !name!, [name]1:9, (name)1:9 are")
    if _observation(one).lower() == NOT_READ:
        return row, end, 0.0
    try:
        return row, end, float(re.sub(r"[dD]", "e", text))
    except ValueError:
        raise failed(f"'{text.strip()}' is no number") from None
