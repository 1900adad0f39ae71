"""tailrace place check: lists files that are not where the rules put them."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.place.choices import DEFAULT_CONFIG, Config, reported_errors, rules_and_mapping
from tailrace.place.files import all_flat, folders_of, tree_files
from tailrace.plain_text import plain


def command(
    config: Config = DEFAULT_CONFIG,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of files of each kind to show.")] = 20,
    as_json: output.AsJson = False,
) -> None:
    """Lists files that are not where the rules put them: flat files, names with two files, and files in a tree without a rule.

    A flat file is in its directory itself, not in the tree. The exit status is 1 if a name has two files, or a tree has files that
    no rule put there, which programs do not see.

    Examples: [bold]tailrace place check[/] · [bold]tailrace place check --config big.toml --json[/]
    """
    with reported_errors(as_json):
        rules, mapping = rules_and_mapping(config)
        flat = all_flat(rules, mapping)
        placed, strange = 0, []
        for folder in folders_of(rules, mapping):
            for physical, logical in tree_files(mapping, folder):
                placed += logical is not None
                strange += [physical] if logical is None else []
    two = {path: file.physical for path, file in flat.items() if file.has_two}
    alone = [path for path, file in flat.items() if not file.has_two]
    if as_json:
        output.print_json({"placed": placed, "flat": sorted(alone), "two_files": two, "unknown": sorted(strange)})
    else:
        print(
            f"{placed:,} files in trees, {len(alone):,} flat, {len(two):,} names with two files, {len(strange):,} others in trees"
        )
        _list("flat", sorted(alone), top)
        _list("two files", [f"{path} and {physical}" for path, physical in sorted(two.items())], top)
        _list("in a tree, and not by a rule", sorted(strange), top)
    if two or strange:
        raise typer.Exit(1)


def _list(kind: str, names: list[str], top: int) -> None:
    for name in names[:top]:
        print(plain(f"{kind}: {name}"))
    if len(names) > top:
        print(f"{kind}: and {len(names) - top:,} more; --top shows more")
