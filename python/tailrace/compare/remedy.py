"""Makes rules from the findings of a run, for the comparison of a program that has no rules yet."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.compare.copies import CompareError, Copies
from tailrace.compare.turns import PLAIN, log_folder, recorded_start, run_in
from tailrace.findings import Finding
from tailrace.findings.rules import PLACING
from tailrace.findings.two_runs import verdict_or_none
from tailrace.place.made_files import made_in_run
from tailrace.place.proposal import is_text, propose
from tailrace.plain_text import plain
from tailrace.quantities import bytes_text, seconds_text
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import chosen_scratch
from tailrace.toml_table import TomlError, literal
from tailrace.trace.log import LogError
from tailrace.trace.model import Run

LEAST = 200  # least number of files of a folder that is placed or staged
MEMORY = "/dev/shm"
STEM = "tailrace-remedy-"
BY_HAND = "name rules with --remedy FILE, or in tailrace.toml (docs/placing.md, docs/staging.md)"


@dataclass(frozen=True)
class Remedy:
    finding: Finding
    toml: str  # the text of a tailrace.toml


def found_remedy(words: Sequence[str], budget_bytes: int, copies: Copies, *, follow: bool) -> Remedy:
    """Runs the command once, plainly and recorded, in a copy of the working folder. Raises CompareError."""
    with copies.fresh() as copy:
        log = log_folder(copies, PLAIN)
        run_in(copy, copies, PLAIN, *recorded_start(words, log, budget_bytes, follow=follow))
        return remedy_of(log, copy)


def remedy_of(log: Path, folder: Path) -> Remedy:
    """Rules for the most expensive finding whose cause placing removes. `log`: the log of a run in `folder`, whose files must still
    exist. Raises CompareError if there is no such finding."""
    try:
        run = Run.read(log, with_calls=True)
        made, _ = made_in_run(log)
    except (LogError, OSError) as error:
        raise CompareError(f"the log of the first run cannot be read: {error}") from None
    verdict = verdict_or_none(run)
    findings = verdict.findings if verdict is not None else ()
    base = os.path.realpath(folder)
    paths = [path for path in made if path.startswith(f"{base}/") and os.path.isfile(path)]
    reasons = []
    for finding in findings:
        if finding.rule in PLACING:
            try:
                text = _tree(paths, base) if PLACING[finding.rule] == "tree" else _stage(paths, base)
                return Remedy(finding, f"# {plain(finding.what.replace(f'{base}/', ''))}\n{text}")
            except (StageError, TomlError) as error:
                reasons.append(f"{finding.title}: {error}")
    named = ", ".join(f"'{finding.title}' {seconds_text(finding.seconds)}" for finding in findings) or "none"
    why = "; ".join(reasons) or f"the findings of this run are: {named}"
    raise CompareError(f"no rule would help this command: {why}: {BY_HAND}")


def _tree(paths: Sequence[str], base: str) -> str:
    proposal = propose(paths, Path(base), least=LEAST)
    if not proposal.rules:
        raise TomlError(f"of {len(paths):,} files no folder has {LEAST} whose names are alike")
    return proposal.toml()


def _stage(paths: Sequence[str], base: str) -> str:
    """The table [stage]: a pattern for each folder in the working folder that gets many files, and one for files directly in it."""
    below: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        first, slash, _ = os.path.relpath(path, base).partition("/")
        below[first if slash else ""].append(path)
    chosen = {first: found for first, found in sorted(below.items()) if len(found) >= LEAST}
    if not chosen:
        raise StageError(f"no folder gets {LEAST} of its {len(paths):,} files")
    patterns = [f"{first}/**" if first else f"{_alike(found)}*" for first, found in chosen.items()]
    if any(set(pattern.removesuffix("/**").removesuffix("*")) & set("*?") or not is_text(pattern) for pattern in patterns):
        raise StageError("rules cannot name a folder whose name has `*` or `?`, or is not UTF-8")
    needed = sum(os.stat(path).st_size for found in chosen.values() for path in found)
    lines = [
        "[stage]",
        "# they are on the device, and safe, when the run has ended; an fsync of the program before that does not make them so",
        f"files = {literal(patterns)}",
        *_scratch(needed),
        'sink = "bundle"  # few large tar files, which `tailrace ls` and `tailrace extract` read; "mirror": each file by its name',
    ]
    return "\n".join(lines) + "\n"


def _alike(paths: Sequence[str]) -> str:
    """The longest beginning that all names share, without digits at its end."""
    names = [os.path.basename(path) for path in paths]
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    return "".join(one for one, _ in same).rstrip("0123456789")


def _scratch(needed: int) -> list[str]:
    """Lines of [stage] that name the scratch folder. None if the batch system gives one; else the node's memory, MEMORY."""
    try:
        chosen_scratch("")
        return []
    except StageError as error:
        try:
            total, _, free = shutil.disk_usage(MEMORY)
        except OSError:
            raise error from None
        kept = min(total // 8, 1 << 30)  # for others; 1 GiB is the default of min_free
        if needed + kept > free:
            raise StageError(
                f"{bytes_text(needed)} of files do not fit into {MEMORY}, which has {bytes_text(free)}: "
                "set TMPDIR to a disk of the node"
            ) from None
        return [f"scratch = {literal(MEMORY)}", f'min_free = "{kept >> 20} MiB"']
