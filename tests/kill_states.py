"""The states of a commit that a kill can meet, and which of them a run was in: by the calls that tests/faults/inject.c told."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OF_JOURNAL = re.compile(r"/journal(\.\d+)?\.jsonl$")
OF_INDEX = re.compile(r"/\.pending-(\d+-)?index$")

STATES = (
    "opening the stream",
    "removing what a kill has left",
    "step begun, nothing written",
    "agreeing, planning or gathering",
    "part made or open, no data",
    "data half written",
    "data written, superblock not",
    "superblock written, no name yet",
    "data written, no journal line",
    "lines before the step's, half",
    "lines before the step's written",
    "renamed, no journal line",
    "journal line half written",
    "journal line written, no time or index",
    "time written, index not",
    "index half written",
    "index written, not renamed",
    "index renamed",
    "closing, nothing done",
    "trimming: metadata moves",
    "trimming: room not cut off",
    "trimmed or synchronised",
    "closed",
)


@dataclass(frozen=True)
class Moment:
    """Where a run may be killed, and the state that this is in a run like the traced one."""

    state: str
    stage: int
    call: str
    number: int  # of such calls in the stage
    how: str  # "before", "half" or "after" it


@dataclass
class Walk:
    """Goes through the calls of a rank in their order."""

    name: str = ""  # of the stage
    journal_line: bool = False  # of the step
    renamed: bool = False

    def stage(self, name: str) -> str:
        self.name, self.journal_line, self.renamed = name, False, False
        return {
            "open": "opening the stream",
            "step": "step begun, nothing written",
            "end_step": "agreeing, planning or gathering",
            "close": "closing, nothing done",
            "closed": "closed",
        }[name]

    def state(self, how: str, call: str, address: int, path: str, word: str, before: str) -> str:
        """After `how` much of a call; `before` is the state before it."""
        if self.name == "open":
            removes = call in ("unlinkat", "unlink", "rmdir", "remove")
            return "removing what a kill has left" if removes and how == "before" else "opening the stream"
        if OF_JOURNAL.search(path):
            return self.of_journal(how, call, word, before)
        if path.endswith((".parts", "/lock", "/writer.json")):  # looking for another run, and giving the stream back
            return before
        if OF_INDEX.search(path):
            return self.of_index(how, call)
        if self.name == "close":
            return self.of_trimming(how, call, before)
        return self.of_part(how, call, address, before)

    def of_journal(self, how: str, call: str, word: str, before: str) -> str:
        if self.name == "close":
            return "trimmed or synchronised"
        if word == "segment" or before == "agreeing, planning or gathering":  # the run begins its segment before its first step
            return before
        if call == "write" and word == "step":
            self.journal_line |= how == "after"
            return {"half": "journal line half written", "after": "journal line written, no time or index"}.get(how, before)
        if call == "write":
            return {"half": "lines before the step's, half", "after": "lines before the step's written"}.get(how, before)
        return before if self.journal_line or call != "open" or how == "before" else self.ready(before)

    def ready(self, before: str) -> str:
        """The first that rank 0 does for the commit is to open the journal."""
        return (
            before if before in ("lines before the step's written", "renamed, no journal line") else "data written, no journal line"
        )

    def of_index(self, how: str, call: str) -> str:
        if call == "rename":
            return "index renamed" if how == "after" else "index written, not renamed"
        return "index half written"

    def of_part(self, how: str, call: str, address: int, before: str) -> str:
        if call == "rename":
            self.renamed |= how == "after"
            return "renamed, no journal line" if how == "after" else before
        if self.journal_line:
            return "time written, index not" if call == "pwritev" and how == "after" else before
        if self.renamed or call in ("fsync", "ftruncate", "preadv", "pread"):
            return before
        if call in ("mkdir", "open"):
            return before if how == "before" else "part made or open, no data"
        if call == "pwritev" and address == 0:
            return "superblock written, no name yet" if how == "after" else "data written, superblock not"
        return "data half written" if call == "pwritev" and how != "before" else before

    def of_trimming(self, how: str, call: str, before: str) -> str:
        if call == "ftruncate":
            return "trimmed or synchronised" if how == "after" else "trimming: room not cut off"
        if call == "pwritev":
            return "trimming: metadata moves"
        if call == "fsync" and before != "trimming: metadata moves":
            return "trimmed or synchronised"
        return before


def moments(trace: Path) -> Iterator[Moment]:
    """All that a traced rank did, in its order. A run that was killed was at the last of them."""
    walk, state, begun = Walk(), "opening the stream", None
    for line in trace.read_text(errors="replace").splitlines():
        words = line.split("\t")
        if words[0] == "begin" and words[3] == "0":
            state = walk.stage(words[2])
            yield Moment(state, int(words[1]), words[2], 0, "before")
            continue
        how = {"begin": "before", "half": "half", "end": "after"}[words[0]]
        if how == "before":
            begun = words[1:]
        assert begun is not None
        stage, call, number, address, path, word = begun
        if how == "after" and call in ("write", "pwritev"):
            # In a run that is not killed nothing is told of the half.
            half = Walk(walk.name, walk.journal_line, walk.renamed).state("half", call, int(address), path, word, state)
            yield Moment(half, int(stage), call, int(number), "half")
        state = walk.state(how, call, int(address), path, word, state)
        yield Moment(state, int(stage), call, int(number), how)


def state_at_end(trace: Path) -> str:
    state = "opening the stream"
    for moment in moments(trace):
        state = moment.state
    return state


@dataclass
class Histogram:
    kills: Counter[str]

    def draw(self, possible: list[Moment], rng: random.Random) -> Moment:
        """Of the states that were met least so far one, and of it any moment."""
        states = sorted({moment.state for moment in possible})
        least = min(self.kills[state] for state in states)
        state = rng.choice([state for state in states if self.kills[state] == least])
        return rng.choice([moment for moment in possible if moment.state == state])

    def text(self) -> str:
        return "\n".join(f"{self.kills[state]:6d}  {state}" for state in STATES)
