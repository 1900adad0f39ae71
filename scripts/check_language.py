"""Plain English: no sentence over 35 words, none of the retired words, in pages, comments, messages and names.

    scripts/check_language.py [FILE or FOLDER ...]     all problems there, whether or not the list of not_yet.toml has them
    scripts/check_language.py --means                  words a sentence, folder by folder

Code blocks, tables and headings are left out. The retired words, and what to say instead, are in scripts/retired_words.toml."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import not_yet
from language import retired, tree
from language.passage import Content
from language.sentences import count_words, split_sentences
from sources import ROOT

MOST_WORDS = 35
SHOWN_WORDS = 9


@dataclass(frozen=True)
class Problem:
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def long_sentences(content: Content) -> Iterator[tuple[int, str]]:
    for passage in content.passages:
        for sentence in split_sentences(passage.text):
            if (words := count_words(sentence)) > MOST_WORDS:
                begin = " ".join(sentence.split()[:SHOWN_WORDS])
                yield passage.line, f"{passage.kind}: {words} words in the sentence that begins '{begin} ...'; at most {MOST_WORDS}"


def problems_of(paths: list[Path]) -> list[Problem]:
    words = retired.read_list()
    found: list[Problem] = []
    for path, content in tree.contents(paths):
        for line, text in (*long_sentences(content), *retired.problems(path, content, words)):
            found.append(Problem(path, line, text))
    return sorted(found, key=lambda problem: (problem.path, problem.line))


def mean_words(contents: Iterable[Content]) -> tuple[float, int]:
    """Words a sentence, and of how many sentences."""
    lengths = [
        words
        for content in contents
        for passage in content.passages
        for sentence in split_sentences(passage.text)
        if (words := count_words(sentence)) > 0
    ]
    return sum(lengths) / max(1, len(lengths)), len(lengths)


def print_means() -> None:
    folders: dict[str, list[Content]] = {}
    for path, content in tree.contents(tree.files()):
        folders.setdefault(str(path) if path.suffix == ".md" else str(path.parent), []).append(content)
    for folder, contents in folders.items():
        mean, sentences = mean_words(contents)
        print(f"{mean:5.1f} words a sentence, {sentences:5} sentences: {folder}")


def main() -> int:
    parser = argparse.ArgumentParser(description="No sentence over 35 words, no retired word.")
    parser.add_argument("below", nargs="*", help="files or folders; without them: the whole tree but what not_yet.toml lists")
    parser.add_argument("--means", action="store_true", help="print the words a sentence, folder by folder")
    arguments = parser.parse_args()
    if arguments.means:
        print_means()
        return 0
    problems = problems_of(tree.files(arguments.below))
    if not arguments.below:
        listed = not_yet.entries("language")
        failing = {entry: any(problem.path.is_relative_to(entry) for problem in problems) for entry in listed}
        not_yet.report_passing("language", [entry for entry, fails in failing.items() if not fails and (ROOT / entry).exists()])
        problems = [problem for problem in problems if not any(problem.path.is_relative_to(entry) for entry in listed)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
