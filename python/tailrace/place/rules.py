"""`[place]` of tailrace.toml as values. Every error names the file, the rule, the value and the remedy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.place.patterns import Kind, PatternError, Token, parse_pattern, parse_target
from tailrace.toml_table import Table, TomlError, read_toml

DEFAULT_MOST = 1000  # entries of a directory, by number fields
MOST_RULES = 256
BELOW = "**"


@dataclass(frozen=True)
class TreeRule:
    """One [[place.tree]]: files of a folder, and the folders below it that they go to."""

    title: str  # as the user wrote `files`
    folder: str  # absolute, without links where it exists
    folder_as: str  # the same folder as the user has written it; "": the same text
    is_below: bool  # also in all folders below
    pattern: tuple[Token, ...]
    target: tuple[Token, ...]
    most: int
    split: str  # the number field that `to` leaves open; its higher digits make the last directories; "": none

    @property
    def directories(self) -> int | None:
        """Directories that hashes make; None: the rule has no hash."""
        found = [token.divisor for token in self.target if token.kind is Kind.HASH]
        count = 1
        for divisor in found:
            count *= divisor
        return count if found else None

    @property
    def bound_text(self) -> str:
        """A text: the most entries that a directory gets by this rule."""
        if self.directories is not None:
            return f"about {self.most} entries a directory up to {self.directories * self.most:,} files"
        texts = [token.field for token in self.pattern if token.kind is Kind.ANY]
        each = f" for each {' and '.join(texts)}" if texts else ""
        return f"at most {self.most} numbers a directory{each}"


def read_rules(config: Path) -> tuple[TreeRule, ...]:
    """The rules of a configuration file; none where it has no [place]. Raises TomlError."""
    return rules_of(read_toml(config), str(config), Path(os.path.abspath(config)).parent)


def rules_of(values: Mapping[str, Any], where: str, base: Path) -> tuple[TreeRule, ...]:
    """`base`: the folder that rules are relative to."""
    place = Table(Table(values, where).table("place", {}), f"{where}: [place]")
    trees = place.typed("tree", list, "tables: write [[place.tree]]", [])
    place.refuse_unknown()
    if len(trees) > MOST_RULES:
        raise TomlError(f"{where}: {len(trees)} rules: at most {MOST_RULES}")
    rules = []
    for number, tree in enumerate(trees, start=1):
        if not isinstance(tree, dict):
            raise TomlError(f"{where}: place.tree must be tables: write [[place.tree]]")
        rules.append(_tree_rule(Table(tree, f"{where}: [[place.tree]] {number}"), base))
    return tuple(rules)


def _tree_rule(table: Table, base: Path) -> TreeRule:
    files, to = table.text("files"), table.text("to", "")
    most = table.whole("most", 2, DEFAULT_MOST)
    table.refuse_unknown()
    if most >= 1 << 32:
        raise table.fail("most", f"must be less than {1 << 32}")
    folder, _, name = files.rpartition("/")
    is_below = folder == BELOW or folder.endswith("/" + BELOW)
    folder = folder.removesuffix(BELOW).rstrip("/") if is_below else folder
    if set(folder) & {"{", "}", "*"}:
        raise table.fail("files", "only the name may have fields; `FOLDER/**/NAME` is for all folders below FOLDER")
    try:
        pattern = parse_pattern(name)
    except PatternError as error:
        raise table.fail("files", str(error)) from None
    if not pattern:
        raise table.fail("files", "it ends without a name: write FOLDER/NAME, such as data/{stream}.{rank:number}")
    try:
        target = parse_target(to, pattern) if to else ()
    except PatternError as error:
        raise table.fail("to", str(error)) from None
    split = _split(table, pattern, target)
    _check_first_level(table, target, is_below)
    written = os.path.normpath(base / folder)
    real = os.path.realpath(written)
    if real == "/":
        raise table.fail("files", "the root of the file system is no folder for a rule")
    return TreeRule(files, real, "" if real == written else written, is_below, pattern, target, most, split)


def _split(table: Table, pattern: tuple[Token, ...], target: tuple[Token, ...]) -> str:
    used = {token.field for token in target}
    left = [token.field for token in pattern if token.kind is Kind.NUMBER and token.field not in used]
    if any(token.kind is Kind.HASH for token in target):
        return ""
    if len(left) > 1:
        raise TomlError(
            f"{table.where}: `to` leaves {' and '.join(left)} open, so no directory has a bound: add {{{left[0]}}} to it"
        )
    if not left and not target:
        raise TomlError(f'{table.where}: no `to`, and no number in `files`: every file would stay; add to = "t{{hash%256}}"')
    return left[0] if left else ""


def _check_first_level(table: Table, target: tuple[Token, ...], is_below: bool) -> None:
    """Refuses a `to` whose first directory could be any folder: directories of a tree are hidden by their names in listings."""
    if target and target[0].kind is Kind.ANY:
        field = target[0].field
        raise table.fail("to", f"begins with the text {{{field}}}, as any folder could: put a number first, or t-{{{field}}}")
    if is_below and (not target or target[0].kind is not Kind.LITERAL):
        raise TomlError(f"{table.where}: with `**`, `to` must begin with a text that no folder has, such as .t{{hash%256}}")
