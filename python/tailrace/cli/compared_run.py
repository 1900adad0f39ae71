"""`tailrace run --compare`: runs a command in turn without and with its files placed, and prints how the runs differ."""

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
from tailrace.compare.remedy import STEM, found_remedy
from tailrace.compare.turns import PLACED, PLAIN, WAYS, check_program, command_of
from tailrace.place.placing import has_rules
from tailrace.plain_text import plain_lines, quoted, say
from tailrace.quantities import seconds_text
from tailrace.report.wording import interval_text, ratio_text
from tailrace.toml_table import TomlError
from tailrace.whole_file import replaced

DEFAULT_CONFIG = Path("tailrace.toml")
RESULT, RULES = "comparison.json", "rules.toml"
MOST_NAMED = 5


def run_compared(options: RunOptions, rounds: int, *, as_json: bool) -> int:
    """Returns the exit status: 0, 1 if the files of the runs differ, or 2 if the comparison could not be made."""
    signal.signal(signal.SIGTERM, _end)  # so that `finally` removes the copy of the working folder
    copies = unproven = None
    budget_bytes = options.budget_mib << 20
    try:
        check_program(options.command)
        config = Path(options.config) if options.config else DEFAULT_CONFIG if has_rules(DEFAULT_CONFIG) else None
        command = None if config is None else command_of(options.command, config, budget_bytes, follow=options.follow)
        copies = Copies(Path.cwd())
        if command is None:
            unproven = _write_remedy(options, copies)
            command = command_of(options.command, unproven, budget_bytes, follow=options.follow)
        found = compare(command, copies, rounds, _tell, recorded=options.trace)
        unproven = None if found.keep else unproven
        with replaced(copies.folder / RESULT) as path:
            path.write_text(json.dumps(found.to_json(), indent=2) + "\n")
    except (CompareError, TomlError) as error:
        output.fail(str(error), as_json)
        return 2
    finally:
        if unproven is not None:
            unproven.unlink()
        if copies is not None:
            copies.close()
    if as_json:
        output.print_json({"folder": str(copies.folder), **found.to_json()})
    else:
        _print(found, copies.folder, recorded=options.trace)
    return 0 if found.difference.is_none else 1


def _tell(text: str) -> None:
    say(f"tailrace: {text}")


def _write_remedy(options: RunOptions, copies: Copies) -> Path:
    """Runs the command once, and writes the rules that its findings name to a new file in the working folder. Each copy of the
    folder then has the file. Returns its path. Raises CompareError."""
    _tell("no rules are given: a first run without rules shows which rules would help")
    remedy = found_remedy(options.command, options.budget_mib << 20, copies, follow=options.follow)
    path = Path(f"{STEM}{copies.folder.name.rpartition('-')[2]}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(remedy.toml)
        # Kept even if the rules bring nothing, unlike `path`: so this one is named to the user.
        (copies.folder / RULES).write_text(remedy.toml, encoding="utf-8")
    except FileExistsError:
        raise CompareError(f"{path}: exists already: move it away, or compare its rules with --remedy {path}") from None
    cost = f"'{remedy.finding.title}' costs {seconds_text(remedy.finding.seconds)} of this run"
    _tell(f"{cost}; the rules to try are in {copies.folder.name}/{RULES}")
    return path


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
        command = f"`tailrace run --config {quoted(found.command.config)} -- ...`"
        how = f"To keep it, run the command with {command}. These of its lines do it:"
        console.print(plain_lines(f"{how}\n{found.keep.rstrip()}"), markup=False, soft_wrap=True)
    logs = (
        f"`tailrace report {quoted(folder / PLAIN)} {quoted(folder / PLACED)}` puts the last two runs side by side"
        if recorded
        else ""
    )
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
        (f"Exist only after {PLAIN} runs", difference.only_plain),
        (f"Exist only after {PLACED} runs", difference.only_placed),
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
