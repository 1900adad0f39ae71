"""Sentences of a passage and their length in words.

A sentence ends at a full stop, question mark or exclamation mark before white space, or where its passage ends.
A semicolon, a colon, a known abbreviation or a file name does not end it. Code between backquotes counts as one word."""

from __future__ import annotations

import re

ABBREVIATIONS = frozenset(["e.g.", "i.e.", "etc.", "cf.", "vs.", "approx.", "fig.", "no.", "dr.", "resp.", "incl.", "excl."])
CODE = re.compile(r"``[^`]*``|`[^`]*`")
END = re.compile(r"[.!?]+[\"')\]*_”’]*(?=\s|$)")
WORD = re.compile(r"[^\W_]")


def without_code(text: str) -> str:
    """Each piece of code as the one word `code`."""
    return CODE.sub("`code`", text)


def split_sentences(text: str) -> list[str]:
    text = " ".join(without_code(text).split())
    sentences, begin = [], 0
    for match in END.finditer(text):
        last = text[begin : match.end()].rsplit(None, 1)[-1].lower().lstrip("(\"'*_")
        rest = text[match.end() :].lstrip()
        if last in ABBREVIATIONS and (rest[:1].islower() or last in {"e.g.", "i.e.", "cf.", "vs."}):
            continue
        if match.group() == "..." and rest[:1].islower():
            continue
        sentences.append(text[begin : match.end()].strip())
        begin = match.end()
    sentences.append(text[begin:].strip())
    return [sentence for sentence in sentences if sentence]


def count_words(sentence: str) -> int:
    return sum(1 for word in without_code(sentence).split() if WORD.search(word))
