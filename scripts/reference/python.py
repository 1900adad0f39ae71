"""docs/reference/python.md, from the signatures and docstrings of the package."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tailrace
from tailrace import contract, errors, layout, reader, stream

from reference.text import fenced, markdown, page, table

PATH = Path("docs/reference/python.md")
FIRST = (stream, reader, layout, contract)  # and then the others
MAX_COLUMNS = 110


class Text(str):
    """What is shown as it is, without quotes around it."""

    __repr__ = str.__str__


def pages() -> Iterator[tuple[Path, str]]:
    names = [name for name in tailrace.__all__ if callable(getattr(tailrace, name)) and name not in errors.__all__]
    by_module: dict[ModuleType, list[str]] = {module: [] for module in FIRST}
    for name in names:
        by_module.setdefault(sys.modules[getattr(tailrace, name).__module__], []).append(name)
    links = {f"tailrace.{name}": f"#{name.lower()}" for name in names}
    parts = [markdown(inspect.getdoc(tailrace) or "", links, "python")]
    for module, defined in by_module.items():
        parts += [f"## {title_of(module)}", markdown(inspect.getdoc(module) or "", links)]
        for name in sorted(defined, key=lambda name: inspect.getsourcelines(getattr(tailrace, name))[1]):
            parts += entry(name, getattr(tailrace, name), links)
    parts += [f"## {title_of(errors)}", markdown(inspect.getdoc(errors) or "", links)]
    classes = [(f"`{made.__name__}`", f"`{builtin_of(made)}`", f"`TAILRACE_{status}`") for status, made in errors.ERRORS.items()]
    parts.append(table(("class", "is also", "status of C"), classes))
    types = ", ".join(f"`{code}`" for code in tailrace.TYPES)
    parts += ["## Constants", f"- `RAGGED`: [`TAILRACE_RAGGED`](c.md#tailrace_ragged)\n- `TYPES`: {types}\n- `__version__`"]
    yield PATH, page("The Python package", "[the docstrings](../../python/tailrace/__init__.py)", *parts)


def title_of(module: ModuleType) -> str:
    """What its docstring begins with."""
    return re.split(r"[:.](?:\s|$)", inspect.getdoc(module) or "", maxsplit=1)[0]


def entry(name: str, value: Any, links: dict[str, str]) -> Iterator[str]:
    """A function or a class with its methods."""
    yield f"### {name}"
    text = inspect.getdoc(value) or ""
    if not inspect.isclass(value):
        yield fenced(signature(name, value), "python")
        yield markdown(text, links, "python")
        return
    if "made by" not in text:
        yield fenced(signature("__init__", value.__init__), "python")
    yield markdown(text, links, "python")
    for member, defined in vars(value).items():
        if member.startswith("_") and not (member == "__setitem__" and defined.__doc__):
            continue
        if isinstance(defined, property):
            yield f"#### {member}"
            yield fenced(f"{member}: {annotation(defined.fget)}", "python")
        elif inspect.isfunction(defined):
            yield f"#### {member}" if not member.startswith("_") else f"#### `{member}`"
            yield fenced(signature(member, defined), "python")
        else:
            continue
        yield markdown(inspect.getdoc(defined) or "", links, "python")


def annotation(getter: Callable[..., Any] | None) -> str:
    return str(inspect.signature(getter).return_annotation) if getter else ""


def signature(name: str, function: Callable[..., Any]) -> str:
    """As a definition, on one line where it fits, else one parameter a line."""
    found = inspect.signature(function)
    parameters = [as_written(parameter) for name, parameter in found.parameters.items() if name != "self"]
    returned = found.return_annotation
    result = "" if returned in ("None", inspect.Signature.empty) else f" -> {returned}"
    words = str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))[1:-1]
    text = f"def {name}({words}){result}: ..."
    return text if len(text) <= MAX_COLUMNS else f"def {name}(\n    " + ",\n    ".join(_split(words)) + f",\n){result}: ..."


def as_written(parameter: inspect.Parameter) -> inspect.Parameter:
    """Annotations are texts already; texts have double quotes."""
    default = parameter.default
    shown = Text(json.dumps(default)) if isinstance(default, str) else default
    return parameter.replace(annotation=Text(parameter.annotation), default=shown)


def _split(words: str) -> list[str]:
    """At the commas outside of brackets."""
    parts, depth = [""], 0
    for sign in words:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def builtin_of(made: type[Exception]) -> str:
    return next(base.__name__ for base in made.__mro__ if base.__module__ == "builtins")
