"""A run under aliases: the tables of a source without the names of its files, hosts and programs, and without command lines.

Only the columns of text in KEPT_TEXTS are kept: all others become empty, also columns that are added later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.trace import sources
from tailrace.trace.aliases import Aliases
from tailrace.trace.model import Run
from tailrace.trace.run_facts import Mount, RunFacts
from tailrace.trace.schema import Tables
from tailrace.trace.source_figures import SourceFigures
from tailrace.trace.table_parts import TableParts

LEFT_OUT = "left out of an anonymous report"
# Columns of text whose values this project has declared.
KEPT_TEXTS = frozenset(
    {"call", "group", "error", "interface", "benchmark", "operation", "sizes", "times", "counted_because", "layer", "kind"}
    | {"moves", "order"}
)
LEFT_OUT_NUMBERS = frozenset({"begin_real_ns"})  # the time of day would lead to the job
KEPT_FACTS = ("duration_s", "status")
KEPT_MACHINE = ("processor", "cores", "memory_bytes")  # of the facts of the machine
KIND = re.compile(r"[a-z0-9._-]{1,16}")  # of a file system


@dataclass(frozen=True)
class Anonymous:
    """Replaces the names of one or several runs. The same name in two runs has the same alias."""

    aliases: Aliases = field(default_factory=Aliases)

    def read(self, source: Path, each: Callable[[int, int], None] = lambda done, count: None) -> Run:
        """The run with its calls. Raises what Run.read raises."""
        run = Run.of_parts(self.parts(sources.read(source)), source, each, with_calls=True)
        return replace(run, facts=self.facts(run.facts))

    def parts(self, parts: TableParts) -> TableParts:
        damaged: list[str] = []
        return TableParts(self._each(parts, damaged), parts.count, damaged, self._figures(parts.figures))

    def facts(self, facts: RunFacts) -> RunFacts:
        """Of those facts that stay, a copy."""
        made = RunFacts(**{name: getattr(facts, name) for name in KEPT_FACTS})
        made.unknown = {name: facts.unknown[name] for name in KEPT_FACTS if name in facts.unknown}
        made.unknown |= dict.fromkeys(("command", "begin_real_ns"), LEFT_OUT)
        if facts.machine is not None:
            made.machine = {name: facts.machine[name] for name in KEPT_MACHINE if name in facts.machine}
        if facts.mounts is not None:
            made.mounts = self.mounts(facts.mounts)
        return made

    def mounts(self, mounts: Sequence[tuple[str, str]]) -> list[Mount]:
        return [Mount(self.aliases.file(folder), kind if KIND.fullmatch(kind) else "?") for folder, kind in mounts]

    def _each(self, parts: TableParts, damaged: list[str]) -> Iterator[Tables]:
        for part in parts.parts:
            yield self._tables(part)
        damaged += ["a log is left out: it is damaged; without --anonymise its name is shown"] * len(parts.damaged)

    def _tables(self, part: Tables) -> Tables:
        for table in part.values():
            if "file" in table.column_names:
                self.aliases.note_folders([name for name in _distinct(table["file"]) if name])
        return {name: self._table(table) for name, table in part.items()}

    def _table(self, table: pa.Table) -> pa.Table:
        for at, column in enumerate(table.schema):
            if column.name in KEPT_TEXTS:
                continue
            if column.name in LEFT_OUT_NUMBERS:
                table = table.set_column(at, column, pa.nulls(len(table), column.type))
            elif pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
                table = table.set_column(at, column, self._column(table[column.name], self._alias_of(column.name)))
        return table

    def _alias_of(self, column: str) -> Callable[[str], str | None]:
        known: Mapping[str, Callable[[str], str | None]] = {
            "host": self.aliases.host,
            "program": self.aliases.file,
            "file": self.aliases.file,
            "other_name": self.aliases.word,
        }
        return known.get(column, lambda text: None)

    def _column(self, column: pa.ChunkedArray, alias_of: Callable[[str], str | None]) -> pa.ChunkedArray:
        """Each distinct text once."""
        chunks = [_replaced(chunk, alias_of) for chunk in column.chunks]
        return pa.chunked_array(chunks, column.type)

    def _figures(self, figures: SourceFigures) -> SourceFigures:
        def rows(of: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
            return [{**row, "file": self.aliases.file(row["file"])} for row in of]

        mounts = None if figures.mounts is None else self.mounts(figures.mounts)
        partial = ["a part of the run is left out; without --anonymise it is named"] * len(figures.partial)
        return replace(
            figures, sums=rows(figures.sums), sizes=rows(figures.sizes), orders=rows(figures.orders), mounts=mounts, partial=partial
        )


def _distinct(column: pa.ChunkedArray) -> list[str | None]:
    found: dict[str | None, None] = {}
    for chunk in column.chunks:
        found |= dict.fromkeys(chunk.dictionary.to_pylist() if isinstance(chunk, pa.DictionaryArray) else chunk.to_pylist())
    return list(found)


def _replaced(chunk: pa.Array, alias_of: Callable[[str], str | None]) -> pa.Array:
    if not isinstance(chunk, pa.DictionaryArray):
        return pa.array([None if text is None else alias_of(text) for text in chunk.to_pylist()], chunk.type)
    texts = [None if text is None else alias_of(text) for text in chunk.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).dictionary_encode().take(chunk.indices).cast(chunk.type)
