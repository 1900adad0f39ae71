"""The hash FNV-1a with 64 bits, as in src/trace/format.hpp and src/place/problem.cpp."""

from __future__ import annotations


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value
