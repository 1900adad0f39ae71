"""`[stage]` of tailrace.toml as values. Every error names the file, the key, the value and the remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.quantities import bytes_text
from tailrace.toml_table import Table, TomlError, read_toml

SINKS = ("mirror", "bundle")
DEFAULT_MIN_FREE = "1 GiB"
DEFAULT_BUNDLE_MIB = 256
NOT_COMPRESSED = "none"
COMPRESSION = re.compile(r"none|zstd(:([1-9]|1[0-9]))?")
MOST_PATTERN_BYTES = 1 << 16
UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@dataclass(frozen=True)
class StageRules:
    """The rules of [stage]: files below `base` that match a pattern are written on scratch first."""

    patterns: tuple[str, ...]  # of paths below base: `?`, `*`, and `**` with slashes
    base: str  # absolute, without links: the folder of tailrace.toml
    base_as: str  # the same folder as the user has written it; "": the same text
    scratch: str  # the folder that the user names; "": one of the batch system
    scratch_as: str  # the same as written: variables have their values on each node
    sink: str
    bundles: str  # absolute: the folder for bundles
    bundle_bytes: int
    compression: str  # of bundles: none, zstd or zstd:N
    min_free_bytes: int  # of scratch; with less, new files are made at the target
    while_running: bool  # closed files are copied to the target while the program runs
    make_room_bytes: int  # with less free on scratch, closed files are delivered while the program runs; 0: none is
    ask_other_nodes: bool  # files that a process does not find are looked for on the other nodes of the run

    @property
    def target(self) -> str:
        """The folder to which the drain moves the files."""
        return self.base if self.sink == "mirror" else self.bundles


@dataclass(frozen=True)
class StageNode:
    """The scratch of one node of a run."""

    scratch: str
    name: str = ""  # as its kernel has it; "": the rules are only explained
    device: int = 0
    inode: int = 0


@dataclass(frozen=True)
class StageRecord:
    """What the rules file says of [stage]."""

    rules: StageRules
    nodes: tuple[StageNode, ...] = ()  # on others no file is staged


def read_stage(config: Path) -> StageRules | None:
    """[stage] of a configuration file; None where it has none. Raises TomlError."""
    return stage_of(read_toml(config), str(config), Path(os.path.abspath(config)).parent)


def stage_of(values: Mapping[str, Any], where: str, base: Path) -> StageRules | None:
    """`base`: the folder that patterns are relative to."""
    if "stage" not in values:
        return None
    table = Table(Table(values, where).table("stage"), f"{where}: [stage]")
    if table.values and table.values.keys() <= {"scratch", "min_free"}:  # for streams of the library alone
        return None
    patterns = tuple(_pattern(table, pattern) for pattern in table.texts("files"))
    if not patterns:
        raise table.fail("files", 'names no file: write files = ["out/**"], for example')
    if sum(len(os.fsencode(pattern)) + 1 for pattern in patterns) > MOST_PATTERN_BYTES:
        raise TomlError(f"{table.where}: files has more than {MOST_PATTERN_BYTES} bytes of patterns: use `*` and `**`")
    sink = table.one_of("sink", SINKS, SINKS[0])
    if "bundles" in table.values and sink != "bundle":
        raise table.fail("bundles", 'is only for sink = "bundle": remove it, or set sink = "bundle"')
    compression = table.text("compression", NOT_COMPRESSED)
    if not COMPRESSION.fullmatch(compression):
        raise table.fail("compression", "must be none, zstd or zstd:N with N from 1 to 19")
    if compression != NOT_COMPRESSED and sink != "bundle":
        raise table.fail("compression", 'is only for sink = "bundle": remove it, or set sink = "bundle"')
    if sink == "bundle" and table.flag("while_running", False):
        raise table.fail("while_running", 'is only for sink = "mirror": bundles are made when the program has ended; remove it')
    written = os.path.normpath(base)
    real = os.path.realpath(written)
    if real == "/":
        raise TomlError(f"{where}: the root of the file system is no folder for [stage]: move the file to the folder of the run")
    rules = StageRules(
        patterns,
        real,
        "" if real == written else written,
        expanded_scratch(table.text("scratch", ""), f"{table.where}: "),
        table.text("scratch", ""),
        sink,
        os.path.normpath(os.path.join(real, table.text("bundles", "."))),
        table.whole("bundle_mib", 1, DEFAULT_BUNDLE_MIB) << 20,
        compression,
        _bytes(table, "min_free", DEFAULT_MIN_FREE),
        table.flag("while_running", False),
        _make_room(table, sink),
        table.flag("ask_other_nodes", True),
    )
    table.refuse_unknown()
    return rules


def _make_room(table: Table, sink: str) -> int:
    if "make_room" not in table.values:
        return 0
    room, least = _bytes(table, "make_room", "0"), _bytes(table, "min_free", DEFAULT_MIN_FREE)
    if sink == "bundle":
        raise table.fail("make_room", 'is only for sink = "mirror": bundles are made when the program has ended; remove it')
    if table.flag("while_running", False):
        raise table.fail(
            "make_room", "delivers closed files while the program runs, and while_running copies them: remove one of them"
        )
    if room <= least:
        raise table.fail(
            "make_room", f"must be more than min_free ({bytes_text(least)}): below that, files are made at their target"
        )
    return room


def _pattern(table: Table, written: str) -> str:
    pattern = os.path.normpath(written) if written else ""
    if not written or written.endswith("/") or pattern.startswith(("/", "../")) or pattern in (".", "..") or "\0" in written:
        raise table.fail("files", f"{written!r} names no file below the folder of this file: write out/**, or restart/*.bin")
    return pattern


def expanded_scratch(written: str, where: str = "") -> str:
    """`scratch` with the values that its variables have on this node. Raises TomlError."""
    scratch = os.path.expandvars(written)
    if scratch and not os.path.isabs(scratch):
        raise TomlError(
            f"{where}scratch = {written!r}: must be an absolute folder, such as /dev/shm or $TMPDIR, whose variable is set"
        )
    return scratch


def _bytes(table: Table, key: str, default: str) -> int:
    text = table.text(key, default)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2] not in UNITS or len(found[1]) > 15:
        raise table.fail(key, f"must be a number with one of {', '.join(list(UNITS)[1:])}, such as '2 GiB'")
    value = int(float(found[1]) * UNITS[found[2]])
    if value >= 1 << 62:
        raise table.fail(key, "is more than any disk has")
    return value
