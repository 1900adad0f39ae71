"""Files whose names differ only in numbers, as one group: `dump.*.N` for dump.0.10, dump.1.10, dump.0.20 ..."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

NUMBER = re.compile(r"(\d+)")
VERBS = ("written", "read", "named")  # the first that fits counts
RANK, STEP = "*", "N"  # a number that is the writer's rank, and another one that differs


@dataclass(frozen=True)
class Member:
    """A process, as one that reads or writes a file."""

    log: int
    rank: int | None


ALL_RANKS = Member(-1, None)  # the user of files whose sums the source has made over all ranks


@dataclass(frozen=True)
class Users:
    """The processes that use a file: those that write it, or else those that read it, or else those that name it."""

    members: frozenset[Member]
    verb: str  # of VERBS


@dataclass(frozen=True)
class FileGroup:
    name: str
    files: tuple[str, ...]
    sharing: str  # "shared", "one for each rank", "one process" or "mixed"
    users: tuple[Member, ...]  # of all files
    verb: str

    @property
    def users_text(self) -> str:
        return users_text(self.users)


def file_groups(users: Mapping[str, Users]) -> list[FileGroup]:
    """The files in groups, in the order of their first file."""
    by_pattern: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in users:
        by_pattern[tuple(NUMBER.split(name)[::2])].append(name)
    return [_group(names, [users[name] for name in names]) for names in by_pattern.values()]


def _group(names: Sequence[str], users: Sequence[Users]) -> FileGroup:
    members = sorted(frozenset().union(*{each.members for each in users}), key=lambda member: member.log)
    verbs = {each.verb for each in users}
    verb = next((verb for verb in VERBS if verb in verbs), "named")
    return FileGroup(_name(names, users), tuple(names), _sharing(users, len(members)), tuple(members), verb)


def _name(names: Sequence[str], users: Sequence[Users]) -> str:
    pieces = NUMBER.split(names[0])
    if len(names) == 1:
        return names[0]
    for at, numbers in enumerate(zip(*(NUMBER.split(name)[1::2] for name in names), strict=True)):
        if len(set(numbers)) > 1:
            pieces[2 * at + 1] = RANK if _are_ranks(numbers, users) else STEP
    return "".join(pieces)


def _are_ranks(numbers: Iterable[str], users: Sequence[Users]) -> bool:
    """Whether each number is the rank of its file's only user, counted from the same first number (0, or 1 in Fortran)."""
    ahead = set()
    for number, each in zip(numbers, users, strict=True):
        (member, *others) = each.members or [Member(-1, None)]
        if others or member.rank is None:
            return False
        ahead.add(int(number) - member.rank)
    return len(ahead) == 1


def _sharing(users: Sequence[Users], members: int) -> str:
    most = [len(each.members) for each in users]
    if any(ALL_RANKS in each.members for each in users):
        return "shared" if all(ALL_RANKS in each.members for each in users) else "mixed"
    if members <= 1:
        return "one process"
    if max(most) == 1:
        return "one for each rank"
    return "shared" if min(most) > 1 else "mixed"


def users_text(members: Iterable[Member]) -> str:
    """ "ranks 0-3, 8" and the number of processes without a rank."""
    members = list(members)
    if ALL_RANKS in members:
        return "all ranks"
    ranks = sorted({member.rank for member in members if member.rank is not None})
    others = len({member.log for member in members if member.rank is None})
    texts = [f"rank{'s' if len(ranks) > 1 else ''} {ranges_text(ranks)}"] if ranks else []
    texts += [f"{others} process{'es' if others > 1 else ''}"] if others else []
    return " and ".join(texts)


def ranges_text(numbers: Sequence[int]) -> str:
    """ "0-3, 8", of sorted numbers."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")
