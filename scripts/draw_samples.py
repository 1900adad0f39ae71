"""Draws comments, messages and names from the tree by a printed seed: a reader checks that each is understood at first reading.

scripts/draw_samples.py [--seed N] [--count N] [FILE or FOLDER ...]"""

from __future__ import annotations

import argparse
import random
import sys

from language import tree
from language.passage import Name, Passage


def draw(below: list[str], seed: int, count: int) -> list[Passage | Name]:
    """Draws the same number of comments, messages and names by the seed, from the files below `below`."""
    comments: list[Passage | Name] = []
    messages: list[Passage | Name] = []
    names: dict[str, Passage | Name] = {}
    for _, content in tree.contents([path for path in tree.files(below) if path.suffix != ".md"]):
        for passage in content.passages:
            (messages if passage.kind == "message" else comments).append(passage)
        for name in content.names.values():
            names.setdefault(name.text, name)
    generator = random.Random(seed)
    drawn: list[Passage | Name] = []
    for number, each in enumerate((comments, messages, list(names.values()))):
        wanted = count * (number + 1) // 3 - count * number // 3
        drawn += generator.sample(each, min(wanted, len(each)))
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(description="Draws comments, messages and names to be read.")
    parser.add_argument("below", nargs="*", help="files or folders; without them: the whole tree")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}: run again with --seed {arguments.seed}")
    for drawn in draw(arguments.below, arguments.seed, arguments.count):
        kind = drawn.kind if isinstance(drawn, Passage) else "name"
        print(f"{drawn.path}:{drawn.line}: {kind}: {' '.join(drawn.text.split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
