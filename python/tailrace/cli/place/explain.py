"""tailrace place explain: shows where the rules put a file, and by which rule."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.place.choices import DEFAULT_CONFIG, AnyConfig, all_rules, reported_errors
from tailrace.place.mapping import Mapping
from tailrace.place.rules import TreeRule
from tailrace.place.stage_rules import StageRules
from tailrace.plain_text import plain
from tailrace.quantities import bytes_text


def command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Names of files, which need not exist.")],
    config: AnyConfig = DEFAULT_CONFIG,
    as_json: output.AsJson = False,
) -> None:
    """Shows where the rules put files, and by which rule.

    The exit status is 1 if one of the paths matches no rule.

    Examples: [bold]tailrace place explain data/file1.00.0003[/] · [bold]tailrace place explain --config big.toml out/a.1 --json[/]
    """
    with reported_errors(as_json):
        rules, stage, mapping = all_rules(config)
        answers = [_answer(path, rules, stage, mapping) for path in paths]
    if as_json:
        output.print_json({"paths": answers})
    else:
        for answer in answers:
            _print(answer)
    if any(answer["rule"] is None for answer in answers):
        raise typer.Exit(1)


def _answer(path: str, rules: tuple[TreeRule, ...], stage: StageRules | None, mapping: Mapping) -> dict[str, object]:
    folder, name = os.path.split(path)
    real = os.path.join(os.path.realpath(folder or "."), name)
    found = mapping.physical(real) or mapping.physical(os.path.abspath(path))
    if found is None:
        plain_answer: dict[str, object] = {
            "path": path,
            "physical": path,
            "rule": None,
            "bound": None,
            "is_there": os.path.lexists(path),
            "is_flat": True,
        }
        staged = mapping.staged(real) or mapping.staged(os.path.abspath(path))
        if staged is None or stage is None:
            return plain_answer
        bound = f"at the target at once where scratch has less than {bytes_text(stage.min_free_bytes)} free"
        return {**plain_answer, "rule": stage.patterns[staged[1]], "bound": bound, "scratch": staged[0], "sink": stage.sink}
    physical, number = found
    target = os.path.relpath(physical, os.path.dirname(real))
    return {
        "path": path,
        "physical": os.path.join(folder, target),
        "rule": rules[number].title,
        "bound": rules[number].bound_text,
        "is_there": os.path.lexists(physical) or os.path.lexists(real),
        "is_flat": os.path.lexists(real) and not os.path.lexists(physical),
    }


def _print(answer: dict[str, object]) -> None:
    if answer["rule"] is None:
        print(plain(f"{answer['path']}: matches no rule, and stays where it is"))
        return
    if "scratch" in answer:
        print(plain(f"{answer['path']} -> {answer['scratch']}, then {answer['path']} ({answer['sink']})"))
        print(plain(f'  by [stage] files = "{answer["rule"]}": {answer["bound"]}'))
        if answer["is_there"]:
            print("  the file exists at the target, and is used there until a program writes it again")
        return
    print(plain(f"{answer['path']} -> {answer['physical']}"))
    print(plain(f'  by files = "{answer["rule"]}": {answer["bound"]}'))
    if answer["is_flat"]:
        print("  the file is not yet in the tree, and is used where it is until `tailrace tree apply` moves it")
