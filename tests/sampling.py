"""Tests of many cases alike: of those marked `sampled(N)` the seed chooses N for `make test`, and all run in `make test-full`.

The choice is among the cases under Open MPI; tests/mpis.py chooses those that meet the second MPI among all.
"""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest


def leave_for_full(cases: list[pytest.Item], count: int, seed: str) -> None:
    """Shuffles them; those after the first `count` run in `make test-full` alone."""
    random.Random(seed).shuffle(cases)
    for case in cases[count:]:
        case.add_marker("full")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before -m looks at the marks."""
    of_test: dict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not any(item.get_closest_marker(name) for name in ("mpich", "full")):
            of_test[item.path, getattr(item, "originalname", item.name)].append(item)
    for (path, name), cases in of_test.items():
        (count,) = next(cases[0].iter_markers("sampled")).args
        leave_for_full(cases, count, f"{config.option.seed} sampled {path.name} {name}")
