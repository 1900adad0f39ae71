"""How the repository reads: the size of its classes, and the words of pages, comments and messages, counted by the lint scripts.

    make bench NAME=house [SIZE=quick|full]

Nothing is timed and nothing is drawn: each figure is a count of the whole tree, so its interval is the figure itself. Both sizes
count the same. docs/benchmarks.md says what is counted; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, console

sys.path.insert(0, str(harness.ROOT / "scripts"))

import check_classes  # of scripts/
import check_language
from language import retired, tree
from language.classes import Class
from language.passage import Content

SIZES = ("quick", "full")
LARGEST = 10
GENERATED = Path("docs/reference")
BY_HAND = "docs, written by hand"
Contents = dict[Path, Content]


def count_language(contents: Contents) -> dict[str, int]:
    """Of the whole tree, whatever scripts/not_yet.toml lists."""
    words = retired.read_list()
    counts = {"retired-words": 0, "long-sentences": 0}
    for path, content in contents.items():
        counts["retired-words"] += sum(1 for _ in retired.problems(path, content, words))
        counts["long-sentences"] += sum(1 for _ in check_language.long_sentences(content))
    return counts


def print_classes(classes: Iterable[Class]) -> None:
    table = Table(title="The largest classes", title_justify="left")
    for heading in ("class", "lines", "data members", "booleans", "declared in"):
        table.add_column(heading, justify="left" if heading in ("class", "declared in") else "right")
    for one in sorted(classes, key=lambda one: -one.lines)[:LARGEST]:
        table.add_row(one.name, str(one.lines), str(len(one.members)), str(len(one.booleans)), str(one.path))
    console.print(table)


def mean_rows(contents: Contents) -> list[dict[str, Any]]:
    rows = []
    for where in ("README.md", "docs", BY_HAND, "src", "include", "bindings", "python"):
        below = "docs" if where == BY_HAND else where
        chosen = {path: content for path, content in contents.items() if path.is_relative_to(below)}
        if where == BY_HAND:
            chosen = {path: content for path, content in chosen.items() if not path.is_relative_to(GENERATED)}
        mean, sentences = check_language.mean_words(chosen.values())
        rows.append({"figure": "words a sentence", "where": where, "mean": mean, "sentences": sentences})
    return rows


def print_means(rows: Iterable[dict[str, Any]]) -> None:
    table = Table(title="Words a sentence (pages, comments and messages)", title_justify="left")
    for heading in ("where", "mean", "sentences"):
        table.add_column(heading, justify="left" if heading == "where" else "right")
    for row in rows:
        table.add_row(row["where"], f"{row['mean']:.1f}", str(row["sentences"]))
    console.print(table)


def claims_of(figures: dict[str, float]) -> list[Claim]:
    """One for each figure of bench/bounds.toml."""
    return [
        Claim(
            wanted["id"],
            wanted["text"],
            figures[wanted["id"]],
            wanted["bound"],
            wanted["unit"],
            {"interval": (figures[wanted["id"]],) * 2},
            at_most=True,
        )
        for wanted in harness.bounds("house")["claims"]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.house", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    given = parser.parse_args()
    started = time.monotonic()
    classes = check_classes.classes()
    contents = dict(tree.contents(tree.files()))
    rows = mean_rows(contents)
    means = {row["where"]: row["mean"] for row in rows}
    print_classes(classes)
    print_means(rows)
    figures: dict[str, float] = {
        "largest-class": max(one.lines for one in classes),
        "class-members": sum(len(one.members) > check_classes.MOST_MEMBERS for one in classes),
        "class-booleans": sum(len(one.booleans) > check_classes.MOST_BOOLEANS for one in classes),
        "class-states": sum(len(one.states) > check_classes.MOST_STATES for one in classes),
        "readme-words": means["README.md"],
        "docs-words": means["docs"],
        **count_language(contents),
    }
    claims = claims_of(figures)
    harness.print_claims(claims, "Claims (counts, and words a sentence; each at most its bound)")
    rows += [
        {
            "figure": "class",
            "name": one.name,
            "path": str(one.path),
            "lines": one.lines,
            "members": len(one.members),
            "booleans": len(one.booleans),
        }
        for one in classes
    ]
    path = harness.write_record("house", {"size": given.size}, rows, claims)
    console.print(f"{len(rows)} figures in {time.monotonic() - started:.0f} s; {path.relative_to(harness.ROOT)}")
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
