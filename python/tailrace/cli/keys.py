"""tailrace keys: the configuration keys and presets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from tailrace import contract
from tailrace.cli import output


def command(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables, as in the documentation.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """The configuration keys, their values, defaults and meaning; the presets; and, as Markdown, which choices go together.

    Examples: [bold]tailrace keys[/] · [bold]tailrace keys --markdown > keys.md[/]
    """
    answer = contract.keys()
    if as_json:
        output.print_json(answer)
    elif markdown:
        print(page(answer))
    else:
        _print_tables(answer)


def _preset_rows(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    for preset in answer["presets"]:
        choices = ", ".join(f"{key} = {value}" for key, value in preset["keys"].items())
        rows.append((preset["name"], choices, preset["meaning"]))
    return rows


def _print_tables(answer: dict[str, Any]) -> None:
    console = output.console()
    console.print("[bold]Keys[/] of tailrace.toml, of open(), and as TAILRACE_<KEY> in the environment")
    keys = output.table("key", "values", "default", "meaning")
    for key in answer["keys"]:
        keys.add_row(*(output.escape(str(key[column])) for column in ("name", "values", "default", "meaning")))
    console.print(keys)
    console.print()
    console.print("[bold]Presets[/], as layout = 'NAME'")
    presets = output.table("preset", "stands for", "meaning")
    for row in _preset_rows(answer):
        presets.add_row(*map(output.escape, row))
    console.print(presets)


_INTRODUCTION = """# Configuration keys

What `tailrace keys --markdown` prints; every key is declared once, in the library.

A key may be set in three places. A later place overrides an earlier one:

1. in the program: the options of `tailrace_open`;
2. in `tailrace.toml` of the working directory, or in the file that `TAILRACE_CONFIG` names, under `[stream.default]` or
   `[stream.NAME]`;
3. in the environment: `TAILRACE_<KEY>` or `TAILRACE_<NAME>_<KEY>`.

`tailrace resolve NAME` shows the values in force, and where each one was set.
"""


_VARIABLES = """## Environment variables

All names that begin with `TAILRACE_`, from the one list in `src/environment/variables.def`. Opening a stream fails where another
such name is set, so that a typing error is found.
"""


def page(answer: dict[str, Any]) -> str:
    """The text of docs/keys.md."""

    def row(*cells: Any) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    lines = [_INTRODUCTION]
    lines += ["| key | values | default | meaning |", "|---|---|---|---|"]
    lines += [row(f"`{key['name']}`", key["values"], f"`{key['default']}`", key["meaning"]) for key in answer["keys"]]
    lines += ["", "## Presets", "", "| preset | stands for | meaning |", "|---|---|---|"]
    lines += [row(f"`{name}`", choices, meaning) for name, choices, meaning in _preset_rows(answer)]
    lines += ["", "## Combinations", "", *_combination_lines(answer["combinations"], row)]
    lines += ["", "## Tables of tailrace.toml", "", "| table | for |", "|---|---|"]
    lines += [row(f"`[{table['name']}]`", table["meaning"]) for table in answer["tables"]]
    lines += ["", _VARIABLES, "| variable | read by | meaning | without it |", "|---|---|---|---|"]
    lines += [row(f"`{one['name']}`", one["reader"], one["meaning"], one["default"]) for one in answer["variables"]]
    return "\n".join(lines)


def _combination_lines(combinations: list[dict[str, str]], row: Callable[..., str]) -> list[str]:
    """A row for each pair of files and writers, a column for each pair of steps and tree; refusals are numbered below."""
    columns = list(dict.fromkeys((one["steps"], one["tree"]) for one in combinations))
    refusals = list(dict.fromkeys(one["refusal"] for one in combinations if one["refusal"]))
    cells: dict[tuple[str, str], list[str]] = {}
    for one in combinations:
        cell = f"refused ({refusals.index(one['refusal']) + 1})" if one["refusal"] else "written"
        cells.setdefault((one["files"], one["writers"]), []).append(cell)
    lines = [
        "Numbers stand for any number. A tree has no effect where one file has all steps.",
        "",
        row("files", "writers", *(f"steps = {steps}, tree = {tree}" for steps, tree in columns)),
        "|---" * (2 + len(columns)) + "|",
    ]
    lines += [row(f"`{files}`", f"`{writers}`", *of_pair) for (files, writers), of_pair in cells.items()]
    lines += ["", "Refused with:", ""]
    return lines + [f"{number}. {refusal}" for number, refusal in enumerate(refusals, 1)]
