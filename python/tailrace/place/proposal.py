"""Rules from names: which folders get many files, what their names have in common, and how many entries a directory then has.

A rule is proposed only after the preload's own code has mapped all names by it, so the counts are those that a run will have.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.place.compiled import compiled
from tailrace.place.mapping import Mapping
from tailrace.place.patterns import MOST_FIELDS, MOST_TOKENS
from tailrace.place.rules import DEFAULT_MOST, MOST_RULES, rules_of
from tailrace.toml_table import TomlError

DEFAULT_LEAST = 1000  # least number of files of a folder for which a rule is proposed
MOST_DIGITS = 18  # most digits of a number, as in src/place/rules.cpp
_SEPARATOR = re.compile(r"([._\-]+)")
_COUNTED = re.compile(r"([^0-9]+)([0-9]+)")
_NUMBERS = {1: ("number",), 2: ("rank", "step")}  # names of number fields, by their count


@dataclass(frozen=True)
class ProposedRule:
    files: str
    to: str
    most: int
    names: int  # number of files that match it now
    directories: int  # number of directories into which it puts them
    largest: int  # entries of the fullest of these directories, subdirectories included

    @property
    def table(self) -> dict[str, Any]:
        return {"files": self.files, **({"to": self.to} if self.to else {}), "most": self.most}


@dataclass(frozen=True)
class LeftFolder:
    folder: str
    names: int
    why: str


@dataclass
class Proposal:
    rules: list[ProposedRule] = field(default_factory=list)
    left: list[LeftFolder] = field(default_factory=list)  # crowded folders with names that match no proposed rule

    def toml(self) -> str:
        """The text of a tailrace.toml."""
        lines = []
        for rule in self.rules:
            lines += [
                f"# {rule.names:,} files now, in {rule.directories:,} directories of at most {rule.largest:,} entries",
                "[[place.tree]]",
                *(f"{key} = {_toml_value(value)}" for key, value in rule.table.items()),
                "",
            ]
        return "\n".join(lines)


def propose(paths: Iterable[str], base: Path, least: int = DEFAULT_LEAST, most: int = DEFAULT_MOST) -> Proposal:
    """Rules for the folders that get at least `least` of these files. `paths` are absolute; `base` is the folder of the rules."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        folder, name = os.path.split(path)
        folders[folder].append(name)
    proposal = Proposal()
    for folder, names in sorted(folders.items()):
        if len(names) >= least:
            _propose_folder(proposal, folder, names, base, least, most)
    if len(proposal.rules) > MOST_RULES:
        raise TomlError(f"{len(proposal.rules)} rules would be needed, and at most {MOST_RULES} are possible: raise --least")
    return proposal


def _propose_folder(proposal: Proposal, folder: str, names: Sequence[str], base: Path, least: int, most: int) -> None:
    where = os.path.relpath(folder, base)
    where = "" if where == "." else where + "/"
    if set(where) & {"{", "}", "*"} or not is_text(where):
        proposal.left.append(
            LeftFolder(folder, len(names), "rules cannot name this folder: it has a brace, a `*`, or is not UTF-8")
        )
        return
    usable = [name for name in names if is_text(name) and not set(name) & {"{", "}"}]
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in usable:
        groups[_shape(name)].append(name)
    chosen: list[tuple[str, str]] = []
    # Longer patterns come first: a text field of a shorter one may have separators in it.
    for shape, group in sorted(groups.items(), key=lambda each: (-len(each[0]), each[0])):
        if len(group) >= least and (found := _choose(where, shape, group, base, most)):
            chosen.append(found)
    rules, left = _counted(folder, chosen, usable, base, most)
    # Names that are not alike are enough together: no pattern of numbers is for them.
    if left >= max(least, most):
        chosen.append((f"{where}{{name}}", f".t{{hash%{_hash_directories(left, most)}}}"))
        rules, left = _counted(folder, chosen, usable, base, most)
    proposal.rules += rules
    if len(names) > len(usable):
        proposal.left.append(LeftFolder(folder, len(names) - len(usable), "names with braces, or not in UTF-8"))
    if left:
        proposal.left.append(LeftFolder(folder, left, "too few of them are alike"))


def is_text(text: str) -> bool:
    return text.isprintable() or not any("\ud800" <= c <= "\udfff" for c in text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _shape(name: str) -> tuple[str, ...]:
    """The form that all names of one pattern share: the separators, and which pieces are numbers."""
    pieces = _SEPARATOR.split(name)
    return tuple(piece if at % 2 else "#" if _is_number(piece) else "" if not piece else "x" for at, piece in enumerate(pieces))


@dataclass(frozen=True)
class _Piece:
    """One piece of a group's names: a text that is the same in all, or a field."""

    text: str = ""
    is_number: bool = False
    values: int = 0  # number of distinct values of the field; 0: the piece is a text


def _pieces(shape: tuple[str, ...], group: Sequence[str]) -> list[_Piece]:
    split = [_SEPARATOR.split(name) for name in group]
    pieces: list[_Piece] = []
    for at, kind in enumerate(shape):
        values = {parts[at] for parts in split}
        counted = [_COUNTED.fullmatch(value) for value in values]
        prefixes = {found[1] for found in counted if found and _is_number(found[2])}
        if len(values) == 1:
            pieces.append(_Piece(text=values.pop()))
        elif kind == "x" and len(prefixes) == 1 and all(counted):
            pieces += [_Piece(text=prefixes.pop()), _Piece(is_number=True, values=len(values))]
        else:
            pieces.append(_Piece(is_number=kind == "#", values=len(values)))
    joined: list[_Piece] = []
    for piece in pieces:
        if not piece.values and joined and not joined[-1].values:
            joined[-1] = _Piece(text=joined[-1].text + piece.text)
        elif piece.values or piece.text:
            joined.append(piece)
    return joined


def _choose(where: str, shape: tuple[str, ...], group: Sequence[str], base: Path, most: int) -> tuple[str, str] | None:
    """`files` and `to` for names that are alike; None: they need no rule of their own."""
    pieces = _pieces(shape, group)
    fields = [piece for piece in pieces if piece.values]
    if not fields or len(fields) > MOST_FIELDS or len(pieces) > MOST_TOKENS:
        return None
    count = sum(piece.is_number for piece in fields)
    numbers = iter(_NUMBERS.get(count, [f"number{n}" for n in range(1, count + 1)]))
    texts = iter(["stream", *(f"text{n}" for n in range(2, MOST_FIELDS + 1))])
    names = [next(numbers) if piece.is_number else next(texts) for piece in fields]
    name_of = iter(names)
    pattern = "".join(piece.text or f"{{{next(name_of)}{':number' if piece.is_number else ''}}}" for piece in pieces)
    counts = {name: piece.values for name, piece in zip(names, fields, strict=True) if piece.is_number}
    texts_of = [name for name, piece in zip(names, fields, strict=True) if not piece.is_number]
    # The number with the most values is the one that grows; the last of several.
    growing = max(counts, key=lambda name: (counts[name], list(counts).index(name)), default=None)
    first = [f"{{{name}}}" for name in counts if name != growing]
    candidates = []
    if first:
        candidates = ["/".join(first), "/".join([*first, *(f"{{{name}}}" for name in texts_of)])]
    elif growing and texts_of:
        candidates = ["/".join(f"t-{{{name}}}" if at == 0 else f"{{{name}}}" for at, name in enumerate(texts_of))]
    elif growing:
        candidates = [f"n{{{growing}%{_hash_directories(len(group), most)}}}"]
    for to in candidates:
        rules, _ = _counted("", [(f"{where}{pattern}", to)], group, base, most)
        # A rest of steps that have a common divisor makes few directories; a hash makes all.
        bound = most // 2 if "%" in to else most + MOST_DIGITS
        if rules and rules[0].largest <= bound and rules[0].names == len(group):
            return rules[0].files, rules[0].to
    if len(group) < most:
        return None
    return f"{where}{pattern}", f".t{{hash%{_hash_directories(len(group), most)}}}"


def _hash_directories(files: int, most: int) -> int:
    """A power of two, so that about a quarter of `most` files are in each directory: there is room for more."""
    count = 2
    while count * most < files * 4 and count < most:
        count *= 2
    return count


def _counted(
    folder: str, chosen: Sequence[tuple[str, str]], names: Sequence[str], base: Path, most: int
) -> tuple[list[ProposedRule], int]:
    """The rules with what the mapping does to these names, and how many names no rule has. Rules without names are left out."""
    if not chosen:
        return [], len(names)
    tables = [{"files": files, "to": to, "most": most} for files, to in chosen]
    rules = rules_of({"place": {"tree": tables}}, "the proposal", base)
    mapping = Mapping(compiled(rules))
    there = folder or rules[0].folder
    entries: list[dict[str, set[str]]] = [defaultdict(set) for _ in chosen]
    files: Counter[int] = Counter()
    for name in names:
        found = mapping.physical(f"{there}/{name}")
        if found is None:
            continue
        path, number = found
        files[number] += 1
        while len(path) > len(there):
            path, entry = os.path.split(path)
            entries[number][path].add(entry)
    made = [
        ProposedRule(*chosen[n], most, files[n], len(entries[n]) - 1, max(len(inner) for inner in entries[n].values()))
        for n in range(len(chosen))
        if files[n]
    ]
    return made, len(names) - files.total()


def _toml_value(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escapes = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(escapes.get(c, c if c.isprintable() else f"\\U{ord(c):08x}") for c in value) + '"'
