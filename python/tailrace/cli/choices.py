"""Parses what users type for layout keys, variables and shapes. Has the options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace import contract, errors


def complete_preset(incomplete: str) -> list[str]:
    """For completion in the shell: the presets that begin with this text."""
    return [preset["name"] for preset in contract.keys()["presets"] if preset["name"].startswith(incomplete)]


def complete_stream(context: typer.Context, incomplete: str) -> list[str]:
    """For completion in the shell: the streams that begin with this text, in the directory typed before; none if it has none."""
    directory = (
        context.args[0] if context.args else "."
    )  # parsing ends at --stream without a value, before Typer binds arguments to names
    try:
        return [described["name"] for described in contract.list_streams(directory) if described["name"].startswith(incomplete)]
    except (errors.Error, OSError):
        return []


OnlyStream = Annotated[str | None, typer.Option("--stream", "-s", help="Only this stream.", autocompletion=complete_stream)]
TheStream = Annotated[
    str | None,
    typer.Option("--stream", "-s", help="The stream; not needed where there is only one.", autocompletion=complete_stream),
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Continue even if another run seems to write the stream; that run then gets an error.")
]


def only_stream(directory: Path) -> str:
    """The name of the only stream in a directory. Raises BadArgument if it has several."""
    names = [str(described["name"]) for described in contract.list_streams(directory)]
    if len(names) != 1:
        raise errors.BadArgument(f"{directory} has the streams {', '.join(names)}: choose one with --stream")
    return names[0]


def parse_choices(texts: Sequence[str]) -> dict[str, Any]:
    """Parses KEY=VALUE texts. A value is a whole number, true, false, or text without quotes."""
    choices: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"'{text}' must be KEY=VALUE, such as files=4")
        choices[key.strip()] = _typed(value.strip())
    return choices


def layout_of(preset: str | None, texts: Sequence[str]) -> dict[str, Any]:
    """The layout keys of a preset and KEY=VALUE texts, which override the preset. A mapping, not keyword arguments: a key may have
    the name of another parameter."""
    return ({} if preset is None else {"layout": preset}) | parse_choices(texts)


def _typed(value: str) -> int | bool | str:
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.isdecimal() else value


def parse_variables(shapes: Sequence[str], grids: Sequence[str], ranks: int) -> list[dict[str, Any]]:
    """Parses shapes such as T:180x360:f4. Each takes the grid at the same position; without one, a grid balanced over the ranks."""
    if len(grids) > len(shapes):
        raise typer.BadParameter(f"{len(grids)} --grid for {len(shapes)} --shape; give one grid for each shape, in the same order")
    variables = []
    for position, text in enumerate(shapes):
        name, shape, element_type = _parse_shape(text, position)
        grid = _numbers(grids[position], "--grid") if position < len(grids) else balanced_grid(ranks, shape)
        if len(grid) != len(shape):
            raise typer.BadParameter(f"grid {grid} and shape {shape} of variable '{name}' have different numbers of dimensions")
        variables.append({"name": name, "type": element_type, "shape": shape, "grid": grid})
    return variables


def _parse_shape(text: str, position: int) -> tuple[str, list[int], str]:
    fields = text.split(":")
    name = fields.pop(0) if not fields[0][:1].isdecimal() else f"v{position + 1}"
    if not 1 <= len(fields) <= 2:
        raise typer.BadParameter(f"'{text}' must be [NAME:]SHAPE[:TYPE], such as T:180x360:f4")
    return name, _numbers(fields[0], "--shape"), fields[1] if len(fields) == 2 else "f8"


def _numbers(text: str, option: str) -> list[int]:
    fields = text.replace(",", "x").split("x")
    if not all(field.isdecimal() for field in fields):
        raise typer.BadParameter(f"{option} '{text}' must be whole numbers with an x between them, such as 180x360")
    return [int(field) for field in fields]


def balanced_grid(ranks: int, shape: Sequence[int]) -> list[int]:
    """The number of blocks along each dimension; their product is `ranks`. Each prime factor of `ranks`, largest first, divides the
    dimension with the longest blocks."""
    grid = [1] * len(shape)
    for factor in sorted(_prime_factors(ranks), reverse=True):
        longest = max(range(len(shape)), key=lambda axis: shape[axis] / grid[axis], default=None)
        if longest is not None:
            grid[longest] *= factor
    return grid


def _prime_factors(number: int) -> list[int]:
    factors = []
    divisor = 2
    while divisor <= math.isqrt(number):
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return [*factors, number] if number > 1 else factors
