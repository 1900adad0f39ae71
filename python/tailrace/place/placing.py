"""Placing and staging in one run: writes the rules file that its processes map, and names files that are not where rules put
them."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from tailrace.fnv import fnv1a
from tailrace.place.compiled import compiled, write_rules
from tailrace.place.files import RUN_FILE, PlacedFile, all_flat
from tailrace.place.mapping import Mapping
from tailrace.place.rules import TreeRule, read_rules
from tailrace.place.stage_rules import StageRecord, StageRules, read_stage
from tailrace.plain_text import quoted
from tailrace.toml_table import TomlError, read_toml

PLACE_KEY = "TAILRACE_PLACE"
MOST_NAMED = 3


def has_rules(config: Path) -> bool:
    """Whether a configuration file exists and has rules of placing. Raises TomlError if it is damaged."""
    return config.is_file() and any(table in read_toml(config) for table in ("place", "stage"))


class Placing:
    """The rules of one run. Raises TomlError and MappingError."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.rules: tuple[TreeRule, ...] = read_rules(config)
        self.stage: StageRules | None = read_stage(config)
        if not self.rules and self.stage is None:
            raise TomlError(
                f"{config}: no [[place.tree]] and no [stage], so nothing would be placed; docs/placing.md and docs/staging.md "
                "show one"
            )
        self.data = compiled(self.rules)
        self.mapping = Mapping(self.data)
        self._flat_before: dict[str, PlacedFile] = {}

    def begin(self, log: Path | None, stage: StageRecord | None = None) -> dict[str, str]:
        """Writes the rules file; returns the variables of the run's processes. Without a log the file is beside the configuration,
        because all nodes must have it. `stage`: where its files are staged. Raises OSError."""
        self.data = compiled(self.rules, stage)
        folder = log if log is not None else self.config.resolve().parent
        # RATIONALE: runs with other rules in the same folder keep theirs, so the name has the rules' checksum.
        path = folder / (RUN_FILE if log is not None else f".tailrace-{fnv1a(self.data):016x}.{RUN_FILE}")
        write_rules(path, self.data)
        self.path = path
        self._flat_before = all_flat(self.rules, self.mapping)
        return {PLACE_KEY: str(path)}

    def said_before(self) -> list[str]:
        if not self._flat_before:
            return []
        text = f"{len(self._flat_before):,} files of the rules lie flat and stay in use there: {_names(self._flat_before)}"
        return [f"{text}; `tailrace tree apply --config {quoted(self.config)}` moves them", *self._two(self._flat_before.values())]

    def nodes_without_scratch(self) -> list[str]:
        """Nodes on which processes did not find the run's scratch folder, and so staged no file."""
        begin = f"{self.path}.without-scratch."
        return sorted(path.removeprefix(begin) for path in glob.glob(glob.escape(begin) + "*"))

    def said_after(self) -> list[str]:
        now = all_flat(self.rules, self.mapping)
        new = [path for path in now if path not in self._flat_before]
        said = self._two(now.values())
        if new:
            said.append(
                f"{len(new):,} files were made without the rules and lie flat: {_names(new)}; a static program, or one that "
                f"Tailrace is not in, has made them; `tailrace tree apply --config {quoted(self.config)}` moves them"
            )
        return said

    def _two(self, files: Iterable[PlacedFile]) -> list[str]:
        two = [file.logical for file in files if file.has_two]
        if not two:
            return []
        return [
            f"{len(two):,} names have two files, one flat and one in the tree, and programs get that of the tree: {_names(two)}; "
            f"`tailrace place check --config {quoted(self.config)}` lists them; remove or rename one of each"
        ]


def _names(paths: Iterable[str]) -> str:
    names = sorted(paths)
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
