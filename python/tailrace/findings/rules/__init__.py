"""The rules, each a module with NAME, TITLE and find(): see `Rule` in finding.py. To add a rule, add its file here and its programs
in tests/findings/."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from tailrace.findings.finding import Rule

RULES: tuple[Rule, ...] = tuple(
    cast(Rule, importlib.import_module(f"{__name__}.{module.name}")) for module in pkgutil.iter_modules(__path__)
)
