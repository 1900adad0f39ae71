"""The options of `tailrace run`, read without Typer.

RATIONALE: importing Typer takes 0.2 s of processor time, more than all other work before the program starts. Typer handles what
this reader does not understand: --help, an unknown option, a wrong value. A test compares both readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

DEFAULT_BUDGET_MIB = 64  # most MiB of log for each process; later calls are only counted
DEFAULT_ROUNDS = 5  # of --compare
VALUES = ("--log", "--budget", "--share", "--config")
OTHER_NAMES = {"--remedy": "--config"}
SHARES = ("owner", "group", "all")  # who may read the logs
SWITCHES = {
    "--follow": ("follow", True),
    "--no-follow": ("follow", False),
    "--trace": ("trace", True),
    "--no-trace": ("trace", False),
}
LEFT_TO_TYPER = ("--compare", "--rounds", "--json")


class RunOptions(NamedTuple):
    command: tuple[str, ...]
    log: str | None = None
    budget_mib: int = DEFAULT_BUDGET_MIB
    follow: bool = True
    share: str = SHARES[0]
    config: str | None = None  # the file with [place]
    trace: bool = True


def parsed(words: Sequence[str]) -> RunOptions | None:
    """Parses the words after `tailrace run`: options, then the command. Returns None if Typer must parse them."""
    given: dict[str, str] = {}
    switched = {"follow": True, "trace": True}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, has_value, value = words[at].partition("=")
        at += 1
        if words[at - 1] == "--":
            break
        name = OTHER_NAMES.get(name, name)
        if name in SWITCHES and not has_value:
            which, on = SWITCHES[name]
            switched[which] = on
            continue
        if name not in VALUES:
            return None
        if not has_value:
            if at == len(words):
                return None
            value = words[at]
            at += 1
        if not value:
            return None
        given[name] = value
    budget = given.get("--budget", str(DEFAULT_BUDGET_MIB))
    command = tuple(words[at:])
    share = given.get("--share", SHARES[0])
    if not command or share not in SHARES or not (budget.isascii() and budget.isdecimal()) or int(budget) < 1:
        return None
    return RunOptions(command, given.get("--log"), int(budget), switched["follow"], share, given.get("--config"), switched["trace"])
