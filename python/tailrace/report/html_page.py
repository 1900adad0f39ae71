"""Pages from templates: one HTML file each, with its style, which needs no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from tailrace.plain_text import plain
from tailrace.whole_file import replaced

STYLES = ("study.css", "run.css")


def text_of(name: str) -> str:
    """The text of a file in the folder of the templates."""
    return (resources.files("tailrace.report") / "templates" / name).read_text()


@lru_cache(maxsize=4)  # compiling a template takes 0.1 s, and a program may write many pages
def _environment(text: Callable[[str], str]) -> jinja2.Environment:
    loader = jinja2.PackageLoader("tailrace.report", "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["plain"] = text
    return environment


def write_html(template: str, values: Mapping[str, Any], path: Path, text: Callable[[str], str] = plain) -> None:
    """Writes a page to a temporary file, and renames it to `path`. `text`: the template's filter `plain`, which makes control
    characters visible. Raises OSError."""
    page = _environment(text).get_template(template).render(**values, style="".join(map(text_of, STYLES)))
    with replaced(path) as beside:
        beside.write_text(page, encoding="utf-8")
