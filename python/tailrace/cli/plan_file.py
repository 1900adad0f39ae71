"""The file of `tailrace plan --variables`: what a stream would define."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from tailrace.cli.choices import balanced_grid


@dataclass
class PlannedStream:
    """As `tailrace.plan` takes them."""

    variables: list[dict[str, Any]] = field(default_factory=list)
    coordinates: list[dict[str, Any]] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    time_attributes: dict[str, Any] = field(default_factory=dict)

    def words(self) -> dict[str, Any]:
        return {"coordinates": self.coordinates, "attributes": self.attributes, "time_attributes": self.time_attributes}


def read_planned_stream(path: Path, ranks: int) -> PlannedStream:
    """Reads a TOML file that has a table [NAME] for each variable and coordinate. [attributes] has the attributes of the stream,
    [time_attributes] those of the time."""
    try:
        tables = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path}: {error}") from None
    stream = PlannedStream()
    for name, table in tables.items():
        if name in ("attributes", "time_attributes") and isinstance(table, dict) and "shape" not in table:
            setattr(stream, name, table)
            continue
        _check(path, name, table)
        if table.get("coordinate", False):
            stream.coordinates.append({"name": name, "length": table["shape"][0], **_optional(table)})
        else:
            grid = table.get("grid") or balanced_grid(ranks, table["shape"])
            stream.variables.append({"name": name, "shape": table["shape"], "grid": grid, **_optional(table)})
    return stream


def _optional(table: dict[str, Any]) -> dict[str, Any]:
    return {"type": table.get("type", "f8"), "attributes": table.get("attributes", {})}


def _check(path: Path, name: str, table: Any) -> None:
    if not isinstance(table, dict) or "shape" not in table:
        raise typer.BadParameter(
            f"{path}: variable [{name}] needs shape = [..], such as [180, 360]; optional: type = 'f4', grid = [2, 2], "
            "attributes = {units = 'K'}, coordinate = true"
        )
    if unknown := table.keys() - {"shape", "type", "grid", "attributes", "coordinate"}:
        raise typer.BadParameter(
            f"{path}: [{name}] has the unknown key '{min(unknown)}'; use shape, type, grid, attributes, coordinate"
        )
    for key in ("shape", "grid"):
        if not _is_wholes(table.get(key, [])):
            raise typer.BadParameter(f"{path}: [{name}] {key} = {table[key]!r} is no list of whole numbers, such as [180, 360]")
    if not isinstance(table.get("type", ""), str):
        raise typer.BadParameter(f"{path}: [{name}] type = {table['type']!r} is no text, such as 'f4'")
    if not isinstance(table.get("attributes", {}), dict):
        raise typer.BadParameter(f"{path}: [{name}] attributes = {table['attributes']!r} is no table, such as {{units = 'K'}}")
    if table.get("coordinate", False) is True and len(table["shape"]) != 1:
        raise typer.BadParameter(f"{path}: [{name}] is a coordinate with shape = {table['shape']}; a coordinate has one dimension")
    if not isinstance(table.get("coordinate", False), bool):
        raise typer.BadParameter(f"{path}: [{name}] coordinate = {table['coordinate']!r} is neither true nor false")


def _is_wholes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
