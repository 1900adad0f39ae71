"""What the commands about placing share: the configuration and its errors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.place.compiled import compiled
from tailrace.place.mapping import Mapping, MappingError
from tailrace.place.rules import TreeRule, read_rules
from tailrace.place.stage_rules import StageNode, StageRecord, StageRules, read_stage
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import chosen_scratch
from tailrace.toml_table import TomlError

DEFAULT_CONFIG = Path("tailrace.toml")
Config = Annotated[Path, typer.Option("--config", help="TOML file with the rules: its table `place`.")]
AnyConfig = Annotated[Path, typer.Option("--config", help="TOML file with the rules: its tables `place` or `stage`.")]


@contextlib.contextmanager
def reported_errors(as_json: bool = False) -> Iterator[None]:
    """Reports an error of the rules or of the files, and ends the command with exit status 2."""
    try:
        yield
    except (TomlError, MappingError, StageError) as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None
    except OSError as error:
        output.fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), as_json)
        raise typer.Exit(2) from None


def all_rules(config: Path) -> tuple[tuple[TreeRule, ...], StageRules | None, Mapping]:
    """The rules of [place] and [stage]."""
    rules, stage = read_rules(config), read_stage(config)
    if not rules and stage is None:
        raise TomlError(f"{config}: no [[place.tree]] and no [stage]; docs/placing.md and docs/staging.md show one")
    record = None
    if stage is not None:
        scratch = os.path.join(os.path.realpath(chosen_scratch(stage.scratch)), "tailrace-RUN")
        record = StageRecord(stage, (StageNode(scratch),))
    return rules, stage, Mapping(compiled(rules, record))


def rules_and_mapping(config: Path) -> tuple[tuple[TreeRule, ...], Mapping]:
    rules = read_rules(config)
    if not rules:
        raise TomlError(f"{config}: no [[place.tree]]; docs/placing.md shows one")
    return rules, Mapping(compiled(rules))
