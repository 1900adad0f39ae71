"""The rules as the flat file that the preload maps: src/place/rules.hpp is the format."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

from tailrace.fnv import fnv1a
from tailrace.place.patterns import Kind, Token
from tailrace.place.rules import TreeRule
from tailrace.place.stage_rules import StageRecord

MAGIC, VERSION = b"TRPLACE\n", 3
HEADER, RULE, TOKEN = struct.Struct("<8sIIQII"), struct.Struct("<6I8I"), struct.Struct("<IIQ")
STAGE, NODE = struct.Struct("<6IQ2I"), struct.Struct("<4I2Q")
NO_FIELD = 0xFFFFFFFF


def compiled(rules: Sequence[TreeRule], stage: StageRecord | None = None) -> bytes:
    """The rules file."""
    behind = HEADER.size + len(rules) * RULE.size
    room = bytearray()

    def put(data: bytes) -> int:
        room.extend(data)
        return behind + len(room) - len(data)

    def text(value: str) -> tuple[int, int]:
        data = os.fsencode(value)
        return put(data), len(data)

    def tokens(values: Sequence[Token], fields: Sequence[str]) -> int:
        words = []
        for token in values:
            at, size = text(token.text) if token.kind is Kind.LITERAL else (0, 0)
            field = fields.index(token.field) if token.field else 0
            words.append(TOKEN.pack(token.kind, field, at | size << 32 if token.kind is Kind.LITERAL else token.divisor))
        room.extend(bytes(-(behind + len(room)) % 8))
        return put(b"".join(words))

    records = []
    for rule in rules:
        fields = [token.field for token in rule.pattern if token.field]
        split = fields.index(rule.split) if rule.split else NO_FIELD
        names = (*text(rule.title), *text(rule.folder), *text(rule.folder_as))
        pattern, target = tokens(rule.pattern, fields), tokens(rule.target, fields)
        records.append(RULE.pack(*names, rule.is_below, rule.most, split, pattern, len(rule.pattern), target, len(rule.target), 0))
    stage_at = 0
    if stage is not None:
        of = stage.rules
        patterns = b"".join(os.fsencode(pattern) + b"\0" for pattern in of.patterns)
        texts = (*text(of.base), *text(of.base_as), put(patterns), len(patterns))
        nodes = b"".join(NODE.pack(*text(node.name), *text(node.scratch), node.device, node.inode) for node in stage.nodes)
        room.extend(bytes(-(behind + len(room)) % 8))
        nodes_at = put(nodes)
        stage_at = put(STAGE.pack(*texts, of.min_free_bytes, nodes_at, len(stage.nodes)))
    data = struct.pack("<II", len(rules), stage_at) + b"".join(records) + bytes(room)
    return HEADER.pack(MAGIC, VERSION, HEADER.size - 8 + len(data), fnv1a(data), len(rules), stage_at)[: HEADER.size - 8] + data


def write_rules(path: Path, data: bytes) -> None:
    """Writes the file for this user alone, whole or not at all."""
    pending = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(pending, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    pending.rename(path)
