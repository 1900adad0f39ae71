"""`tailrace run --compare`: a command by turns, plainly and with its files placed, and what that brought."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType

from tailrace.cli import output
from tailrace.cli.run_options import RunOptions
from tailrace.compare.comparison import PROGRAM, Comparison, compare, verdict_text
from tailrace.compare.copies import CompareError, Copies
from tailrace.compare.differences import Difference
from tailrace.compare.turns import PLACED, PLAIN, WAYS, command_of
from tailrace.plain_text import plain_lines, say
from tailrace.quantities import seconds_text
from tailrace.report.wording import interval_text, ratio_text
from tailrace.whole_file import replaced

DEFAULT_CONFIG = "tailrace.toml"
RESULT = "comparison.json"
MOST_NAMED = 5


def run_compared(options: RunOptions, rounds: int, *, as_json: bool) -> int:
    """Returns 0, or 1 where the files differ, or 2 where there is no comparison."""
    signal.signal(signal.SIGTERM, _end)  # the copy of the working folder is removed
    copies = None
    try:
        config = Path(options.config or DEFAULT_CONFIG)
        command = command_of(options.command, config, options.budget_mib << 20, follow=options.follow)
        copies = Copies(Path.cwd())
        found = compare(command, copies, rounds, lambda text: say(f"tailrace: {text}"), recorded=options.trace)
        with replaced(copies.folder / RESULT) as path:
            path.write_text(json.dumps(found.to_json(), indent=2) + "\n")
    except CompareError as error:
        output.fail(str(error), as_json)
        return 2
    finally:
        if copies is not None:
            copies.close()
    if as_json:
        output.print_json({"folder": str(copies.folder), **found.to_json()})
    else:
        _print(found, copies.folder, recorded=options.trace)
    return 0 if found.difference.is_none else 1


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def _print(found: Comparison, folder: Path, *, recorded: bool) -> None:
    console = output.console()
    table = output.table("", *WAYS, "times as fast", numbers=(*WAYS, "times as fast"))
    for measure in found.measures:
        ratio = measure.ratio
        cells = [f"{seconds_text(of.median)} ({seconds_text(of.low)}..{seconds_text(of.high)})" for of in measure.spreads]
        shown = f"{ratio_text(ratio)}, {interval_text(ratio)}"
        table.add_row(measure.name, *cells, shown if ratio.differs else f"≈ {shown}")
    plain, placed = found.directories
    table.add_row("directories with new files", f"{plain.count:,}", f"{placed.count:,}", "")
    table.add_row("entries of the largest", f"{plain.most_entries:,}", f"{placed.most_entries:,}", "")
    console.print(f"[bold]{output.escape(verdict_text(*found.measures[:2]))}[/]", soft_wrap=True)
    console.print(table)
    for text in (*_claimed_texts(found), *_difference_texts(found.difference), *_other_texts(found)):
        console.print(output.plain(text), markup=False, soft_wrap=True)
    if found.keep:
        how = f"To keep it, run the command with `tailrace run --config {found.command.config} -- ...`, and have in that file:"
        console.print(plain_lines(f"{how}\n{found.keep.rstrip()}"), markup=False, soft_wrap=True)
    logs = f"`tailrace report {folder}/{PLAIN} {folder}/{PLACED}` puts the last two runs side by side" if recorded else ""
    console.print(output.plain(f"{folder} has {RESULT}, and what the runs printed. {logs}".strip()), markup=False, soft_wrap=True)


def _claimed_texts(found: Comparison) -> list[str]:
    plain, placed = next(measure for measure in found.measures if measure.name == PROGRAM).spreads
    gained_s = plain.median - placed.median
    measured = f"{seconds_text(gained_s)} less" if gained_s > 0 else f"{seconds_text(-gained_s)} more"
    return [
        f"The finding {rule} of the {PLAIN} runs claims {seconds_text(seconds)} (`tailrace report` says how); "
        f"measured: the program takes {measured} when placed"
        for rule, seconds in found.claimed_s.items()
    ]


def _difference_texts(difference: Difference) -> list[str]:
    kinds = (
        ("Different after placed runs", difference.different),
        (f"Only there after {PLAIN} runs", difference.only_plain),
        (f"Only there after {PLACED} runs", difference.only_placed),
        (f"Not comparable, because {PLAIN} runs differ in them", difference.not_comparable),
        ("The same content, with other bytes, after all runs", difference.same_content),
    )
    found = [f"{what} ({len(names):,}): {_named(names)}" for what, names in kinds if names]
    reasons = [f"{name}: {why}" for name, why in list(difference.reasons.items())[:MOST_NAMED]]
    return [f"The same after all runs, with the same bytes: {difference.same:,} files and folders", *found, *reasons]


def _other_texts(found: Comparison) -> list[str]:
    texts = list(found.notes)
    if found.outside:
        texts.append(f"Files outside of the working folder were written by all runs, and not compared: {_named(found.outside)}")
    return texts


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
