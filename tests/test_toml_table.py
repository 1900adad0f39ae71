"""TOML tables: every error names the file, the key, the value and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tailrace.toml_table import Table, TomlError, literal, read_toml

pytestmark = pytest.mark.fast


def table(**values: Any) -> Table:
    return Table(values, "a.toml [part]")


@pytest.mark.parametrize(
    ("values", "read", "message"),
    [
        ({}, lambda t: t.text("name"), "a.toml [part]: key `name` is missing: add it"),
        ({"nmae": "x"}, lambda t: t.text("name"), "key `name` is missing: did you write it as `nmae`?"),
        ({"name": 3}, lambda t: t.text("name"), "a.toml [part]: name = 3: must be a string"),
        ({"keep": 1}, lambda t: t.flag("keep"), "keep = 1: must be true or false"),
        ({"steps": True}, lambda t: t.whole("steps", 1), "steps = True: must be a whole number of at least 1"),
        ({"steps": 0}, lambda t: t.whole("steps", 1), "steps = 0: must be at least 1"),
        ({"limit_s": float("inf")}, lambda t: t.number("limit_s", 0.1), "limit_s = inf: must be at least 0.1, and at most 1e+09"),
        ({"by": "retrun"}, lambda t: t.one_of("by", ["return", "wall"]), "must be one of return, wall; did you mean 'return'?"),
        ({"by": 1}, lambda t: t.one_of("by", ["return", "wall"]), "by = 1: must be a string"),
        ({"words": ["a", 1]}, lambda t: t.texts("words"), "words = ['a', 1]: must be a list of strings"),
        ({"ranks": [1, 1]}, lambda t: t.wholes("ranks", 1), "must be a list of different whole numbers of at least 1"),
        ({"rnks": 1}, lambda t: (t.get("ranks", 2), t.refuse_unknown()), "unknown key `rnks`: did you mean `ranks`?"),
        ({"zzz": 1}, lambda t: (t.get("ranks", 2), t.refuse_unknown()), "unknown key `zzz`: known are ranks"),
    ],
)
def test_errors_name_the_place_the_value_and_the_remedy(values: dict[str, Any], read: Any, message: str) -> None:
    with pytest.raises(TomlError) as caught:
        read(table(**values))
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.toml [part]: ")


def test_defaults_are_for_missing_keys_alone() -> None:
    found = table(steps=3)
    assert (found.whole("steps", 1, default=7), found.whole("ranks", 1, default=7), found.text("name", default=None)) == (
        3,
        7,
        None,
    )
    found.ignore("phases")
    found.refuse_unknown(["more"])


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match=r"a\.toml: no such file"):
        read_toml(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text("a = = 3\n")
    with pytest.raises(TomlError, match=r"b\.toml: .*line 1"):
        read_toml(tmp_path / "b.toml")


@pytest.mark.parametrize(
    ("value", "text"), [("a", '"a"'), (1.5, "1.5"), (True, "true"), ([1, "x"], '[1, "x"]'), ({"k": 1}, "{ k = 1 }")]
)
def test_values_are_written_as_toml(value: Any, text: str) -> None:
    assert literal(value) == text
