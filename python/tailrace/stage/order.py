"""The order to stage the files of a run on a node. Agents of other nodes get it as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tailrace.place.stage_rules import StageRules


class OtherNodes(StrEnum):
    """The other nodes of a run, which may have scratch, too."""

    NONE = "none"
    THERE = "there"
    ASKED = "asked"  # for files that processes do not find


@dataclass(frozen=True)
class StageOrder:
    base: str  # the folder of the run
    target: str  # where the drain carries files to
    sink: str
    bundle_bytes: int
    compression: str
    scratch: str  # as the user has written it: variables have the values of the node
    while_running: bool
    make_room_bytes: int  # with less free on scratch, closed files are delivered while the program runs; 0: none is
    log: str  # the folder of the run's log; all nodes have it
    other_nodes: OtherNodes

    @property
    def is_one_of_several(self) -> bool:
        return self.other_nodes is not OtherNodes.NONE

    @property
    def delivers_while_running(self) -> bool:
        """Whether files may leave scratch while the program runs."""
        return self.make_room_bytes > 0 or self.answers_questions

    @property
    def answers_questions(self) -> bool:
        """Whether processes ask for files: they may be on another node, or in a bundle of an earlier run."""
        return self.other_nodes is OtherNodes.ASKED or self.sink == "bundle"

    @staticmethod
    def of(rules: StageRules, log: Path, *, is_one_of_several: bool) -> StageOrder:
        return StageOrder(
            rules.base,
            rules.target,
            rules.sink,
            rules.bundle_bytes,
            rules.compression,
            rules.scratch_as,
            rules.while_running,
            rules.make_room_bytes,
            str(log),
            OtherNodes.NONE if not is_one_of_several else OtherNodes.ASKED if rules.ask_other_nodes else OtherNodes.THERE,
        )

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> StageOrder:
        """Ignores keys that it does not know."""
        known = {field.name for field in dataclasses.fields(StageOrder)}
        given = {name: value for name, value in values.items() if name in known}
        return StageOrder(**{**given, "other_nodes": OtherNodes(values["other_nodes"])})
