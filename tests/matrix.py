"""The matrix of what a stream may be written as: presets x ranks x decompositions x steps a file x nodes; and pairwise samples."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tests import formula
from tests.presets import PRESETS

T = TypeVar("T")

DECOMPOSITIONS = ("rows", "columns", "blocks2d", "blocks3d", "irregular", "cells", "amr", "one", "some", "scattered")
MEMORIES = ("dense", "halo", "transposed", "backwards")
STEPS_PER_FILE = ("1", "2", "'all'")
RANKS = (1, 2, 3, 4)
RANKS_PER_NODE = (0, 1, 2)
SETS = ("climate", "types")
SMALL = formula.Sizes(lev=3, lat=10, lon=7)


@dataclass(frozen=True)
class Case:
    preset: str
    steps_per_file: str
    ranks_per_node: int
    ranks: int
    decomposition: str
    memory: str
    variables: str
    extra: str = ""  # further keys

    @property
    def options(self) -> str:
        keys = [f"layout = '{self.preset}'", f"steps = {self.steps_per_file}", f"ranks_per_node = {self.ranks_per_node}"]
        return "\n".join([*keys, "exchange_bytes = '64 KiB'", self.extra])

    @property
    def choices(self) -> list[str]:
        return [f"set={self.variables}", f"decomposition={self.decomposition}", f"memory={self.memory}"]

    @property
    def label(self) -> str:
        steps, where = self.steps_per_file.strip("'"), f"{self.ranks}x{self.ranks_per_node}"
        return "-".join((self.preset, steps, where, self.decomposition, self.memory, self.variables))


def whole_matrix() -> list[Case]:
    """Memory and set of variables alternate, so that each pairs with everything."""
    axes = itertools.product(PRESETS, STEPS_PER_FILE, RANKS_PER_NODE, RANKS, DECOMPOSITIONS)
    kinds = itertools.cycle(itertools.product(MEMORIES, SETS))
    return [
        Case(preset, steps, per_node, ranks, decomposition, *next(kinds))
        for preset, steps, per_node, ranks, decomposition in axes
        if per_node < ranks or per_node == 0
    ]


def pairwise(cases: Sequence[T], values_of: Callable[[T], tuple[Hashable, ...]], rng: random.Random) -> list[T]:
    """Few of the cases, so that any two values which meet in a case meet in one of these: each time the case with the most pairs
    that are still missing, among equals the one that `rng` draws."""
    codes = [np.unique([str(value) for value in axis], return_inverse=True) for axis in zip(*map(values_of, cases), strict=True)]
    columns, first = [], 0
    for (names, left), (others, right) in itertools.combinations(codes, 2):
        columns.append(first + left * len(others) + right)
        first += len(names) * len(others)
    pairs = np.stack(columns, axis=1)
    missing = np.zeros(first, bool)
    missing[pairs] = True
    chosen = []
    while missing.any():
        new = missing[pairs].sum(axis=1)
        chosen.append(rng.choice(np.flatnonzero(new == new.max()).tolist()))
        missing[pairs[chosen[-1]]] = False
    return [cases[k] for k in chosen]
