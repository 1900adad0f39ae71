"""The page of an ensemble: what is on it, names of others, its size, and how it is made anew."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tailrace.ensemble import Ensemble, EnsembleError
from tailrace.ensemble.folder import Folder
from tailrace.ensemble.page import Page
from tailrace.ensemble.results import Summary

from tests.ensembles import write_ensemble

HOSTILE = '</svg><script>alert("x")</script>\x1b[31m'


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def of_lines(folder: Path, lines: list[dict[str, Any]], parameters: list[str], results: list[str]) -> str:
    page, summary = Page(), Summary()
    for line in lines:
        page.take(line)
        summary.add(line)
    about = {"name": HOSTILE, "parameters": parameters, "members": len(lines), "began": 1.0, "tailrace": "0", "engine": "threads"}
    made = Folder(folder, heads=[{**about, "memory limit": "none", "fingerprint": {"command": [HOSTILE]}}])
    for member in range(len(lines)):
        made.finished[member] = 0
    made.failed = {line["member"] for line in lines if line["reason"]}
    return page.write(made, results, summary.of(made)).read_text()


def line_of(member: int, reason: str = "", **values: Any) -> dict[str, Any]:
    seconds = {"stage": 0.01, "run": 1.0 + member % 7, "wait": 0.02, "read": 0.01}
    facts = {"begin": 1000.0 + member / 10, "host": "node1"}
    return {"member": member, "reason": reason, "seconds": seconds, "facts": facts, **values}


def test_the_page_of_a_run(tmp_path: Path) -> None:
    ensemble = Ensemble(write_ensemble(tmp_path, ["good", "exit", "good", "half"]))
    ensemble.run()
    text = (ensemble.folder.out / "index.html").read_text()
    elements = Elements(text).found
    ids = {attributes.get("id") for _, attributes in elements}
    assert {"throughput", "split", "slowest", "plots"} <= ids
    assert "nasty: 4 members: 2 good, 2 failed, 0 left" in text
    assert "the matrix is singular" in text
    assert "result over value: 2 members" in text
    assert not [tag for tag, _ in elements if tag in ("script", "img")]
    outside = [value for _, attributes in elements for name, value in attributes.items() if name in ("href", "src") and value]
    assert outside == ["data:,"]


def test_names_of_others_are_escaped(tmp_path: Path) -> None:
    names = {f"p{HOSTILE}": 1.0, HOSTILE: 2.0}
    lines = [line_of(0, parameters=names, results={"r" + HOSTILE: 3.0})]
    lines.append(line_of(1, HOSTILE, message=HOSTILE, log=f"{HOSTILE}\nlast"))
    text = of_lines(tmp_path, lines, list(names), ["r" + HOSTILE])
    assert "script" not in {tag for tag, _ in Elements(text).found}
    assert "\x1b" not in text
    assert text.count("&lt;/svg&gt;") + text.count("&lt;script") >= 5


def test_ten_thousand_members_are_binned_and_sampled(tmp_path: Path) -> None:
    parameters, results = [f"p{n}" for n in range(8)], [f"r{n}" for n in range(5)]

    def line(member: int) -> dict[str, Any]:
        if member % 10 == 0:
            return line_of(member, "exit", message="m" * 5000, log="l" * 10_000)
        values = {name: float((member * (n + 3)) % 997 + 1) for n, name in enumerate(parameters)}
        return line_of(member, parameters=values, results={name: values[f"p{n}"] ** 2 for n, name in enumerate(results)})

    text = of_lines(tmp_path, [line(member) for member in range(10_000)], parameters, results)
    assert len(text.encode()) < 1_000_000
    assert "a sample of 1000 of 9,000 good members" in text.replace("\N{NO-BREAK SPACE}", ",").replace("9 000", "9,000")
    assert "28 further pairs are not shown" in text
    assert len(re.findall(r'class="dots"', text)) == 12
    assert "1,000 ×" in text.replace("1 000", "1,000").replace("1\N{NO-BREAK SPACE}000", "1,000")


def test_report_makes_it_anew(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good", "exit"])
    with pytest.raises(EnsembleError, match="no ensemble has run in this folder"):
        Ensemble(path).report()
    Ensemble(path).run()
    page = tmp_path / "nasty-ensemble" / "index.html"
    before = page.read_text()
    page.unlink()
    command = [sys.executable, "-m", "tailrace", "ensemble", "report", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["page"] == str(page)
    assert page.read_text() == before
