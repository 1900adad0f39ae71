"""The rules, each a module with NAME, TITLE and find(), some with PLACING: see `Rule` in finding.py.

To add a rule, add its file here and its programs in tests/findings/.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import cast

from tailrace.findings.finding import Placing, Rule

RULES: tuple[Rule, ...] = tuple(
    cast(Rule, importlib.import_module(f"{__name__}.{module.name}")) for module in pkgutil.iter_modules(__path__)
)

# The kind of placing that removes the cause, for each rule that has one.
PLACING: Mapping[str, Placing] = {rule.NAME: rule.PLACING for rule in RULES if hasattr(rule, "PLACING")}
