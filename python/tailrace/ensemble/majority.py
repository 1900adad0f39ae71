"""Which fields count: types, dimensions, shapes and coordinates that most members have. A member that has others is malformed.

It is decided from all members that have ended, not while they run. So neither their order nor the number of workers plays a part,
and a resumed ensemble comes to the same as one that was never interrupted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.ensemble.fields import difference

NO_SIGNATURE = "its fields are not those"  # of a journal that does not have them for this member


@dataclass(frozen=True)
class Majority:
    """What most members have. Of two that equally many have, the one of the lowest member counts."""

    first: int  # the lowest member that has it
    count: int
    total: int
    differing: frozenset[int]

    def judged(self, line: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The line of a member, as malformed where it differs. `wanted`: the signature of the first."""
        if line["member"] not in self.differing:
            return dict(line)
        whom = f"{self.count} of {self.total} members (the first is member {self.first})"
        found = line["fields"].get("signature", {})
        text = (difference(found, wanted, whom) if found else "") or f"{NO_SIGNATURE} of {whom}"
        without = {key: value for key, value in line.items() if key not in ("fields", "results")}
        return {**without, "reason": "malformed", "message": text, "differs": True}


def majority_of(hashes: Iterable[tuple[int, int]]) -> Majority:
    """`hashes`: members in their order, each with the hash of its fields' signature."""
    known = list(hashes)
    counts = Counter(value for _, value in known)
    if len(counts) < 2:
        return Majority(known[0][0] if known else -1, len(known), len(known), frozenset())
    firsts: dict[int, int] = {}
    for member, value in known:
        firsts.setdefault(value, member)
    most = min(counts, key=lambda value: (-counts[value], firsts[value]))
    differing = frozenset(member for member, value in known if value != most)
    return Majority(firsts[most], counts[most], len(known), differing)
