"""docs/support.md names the extras of the package, what each brings, and the versions that the tests run with."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.environment import ROOT

pytestmark = pytest.mark.fast


def name_of(requirement: str) -> str:
    return re.split(r"[<>=\[; ]", requirement)[0]


def test_packages_of_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked: dict[str, set[str]] = {}  # numpy has one for each Python
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        locked.setdefault(package["name"].lower(), set()).add(f"{package.get('version')}.")
    wanted = {"base": project["dependencies"], **project["optional-dependencies"]}
    rows = re.findall(r"^\| (base|`\[\w+\]`) \| (.*) \|$", (ROOT / "docs" / "support.md").read_text(), re.MULTILINE)
    shown = {extra.strip("`[]"): dict(entry.split(" ") for entry in packages.split(", ")) for extra, packages in rows}
    assert shown.keys() == wanted.keys()
    for extra, requirements in wanted.items():
        assert shown[extra].keys() == {name_of(requirement) for requirement in requirements}, extra
        for package, version in shown[extra].items():
            versions = locked[package.lower()]
            assert any(known.startswith(f"{version}.") for known in versions), f"{package} is locked at {versions}"
