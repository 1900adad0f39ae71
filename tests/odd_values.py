"""Changes of files that know their structure: numbers, lengths and names where they are. They repeat and move records, and cut."""

from __future__ import annotations

import copy
import random
from typing import Any

ODD_NUMBERS = (
    0,
    1,
    2,
    7,
    63,
    64,
    65,
    127,
    255,
    256,
    4095,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
ODD_VALUES: tuple[Any, ...] = (
    True,
    -1,
    0,
    1.5,
    1e308,
    2**62,
    -(2**62),
    "",
    "x",
    [],
    {},
    [[]],
    {"": 1},
    "9" * 30,
    "\x1b[2J",
    "[/]",
    "٣",
)
ODD_WORDS = (
    "",
    "-",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "9" * 5000,
    "-1",
    "0",
    "1.5",
    "٣",
    "\0",
    "x" * 10_000,
    "[/]",
    "{",
    ",,,",
    '"',
)


def mutated_bytes(content: bytes, rng: random.Random, fields: list[tuple[int, int]], slot: int) -> bytes:
    """Changes a binary file. `fields`: (place, bytes) of its numbers. `slot`: bytes of its records."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        size = len(data)
        if size < 16:
            break
        kind = rng.randrange(8)
        at = rng.randrange(max(1, size // slot)) * slot
        if kind <= 2 and fields:
            place, width = rng.choice(fields)
            number = rng.choice((*ODD_NUMBERS, rng.getrandbits(64), size, size - 1)) % (1 << 8 * width)
            data[place : place + width] = number.to_bytes(width, "little")
        elif kind == 3:
            width = rng.choice((1, 2, 4, 8))
            place = at + rng.randrange(max(1, slot // width)) * width
            data[place : place + width] = (rng.choice(ODD_NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 4:
            data[rng.randrange(size)] ^= 1 << rng.randrange(8)
        elif kind == 5:
            other = rng.randrange(max(1, size // slot)) * slot
            data[at : at + slot] = data[other : other + slot]
        elif kind == 6:
            del data[rng.randrange(size) :]
        else:
            data[at:at] = data[at : at + slot * rng.randrange(1, 9)]
    return bytes(data)


def mutated_text(text: str, rng: random.Random) -> str:
    """Changes words and lines."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(5)
        words = lines[at].replace(",", " , ").split(" ")
        if kind <= 1:
            words[rng.randrange(len(words))] = rng.choice(ODD_WORDS)
            lines[at] = " ".join(words).replace(" , ", ",")
        elif kind == 2:
            lines[at:at] = [lines[at]] * rng.choice((1, 2, 1000))
        elif kind == 3:
            after = [] if rng.random() < 0.5 else lines[at + 1 :]
            lines = [*lines[:at], *after] or [""]
        else:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def mutated_value(value: Any, rng: random.Random) -> Any:
    """A value of JSON or TOML with a part that is another, missing, repeated or nested deeper."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = value
        while True:
            keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.8:
                at = at[key]
                continue
            kind = rng.randrange(4)
            if kind <= 1:
                at[key] = copy.deepcopy(rng.choice(ODD_VALUES))  # the next change may be within it
            elif kind == 2:
                del at[key]
            elif isinstance(at, list):
                at.append(copy.deepcopy(at[key]))
            else:
                at[f"{key}x"] = copy.deepcopy(at[key])
            break
    return value
