"""Finds the types, dimensions, shapes and coordinates of fields that most members have. A member with others is malformed.

The majority is taken over all members that have ended. So the result does not depend on their order or the number of workers, and
is the same for a resumed ensemble as for one that was never interrupted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.ensemble.fields import difference

NO_SIGNATURE = "its fields are not those"  # the message if the journal has no signature of this member


@dataclass(frozen=True)
class Majority:
    """The signature that most members have. Of two signatures of equally many members, the one of the lowest member counts."""

    first: int  # the lowest member that has it
    count: int
    total: int
    differing: frozenset[int]

    def judged(self, line: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The member's line, marked as malformed if its fields differ. `wanted`: the signature of member `first`."""
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
