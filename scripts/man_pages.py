"""docs/man/: a manual page for the command and for each of its commands, from the declarations that --help shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tailrace
import typer
from tailrace import cli
from tailrace.cli.app import make_app

FOLDER = Path("docs/man")
MARKUP = re.compile(r"\[/?(?:bold)?\]")
EXAMPLE = re.compile(r"\[bold\](.*?)\[/\]", re.DOTALL)


def pages() -> Iterator[tuple[Path, str]]:
    program: Any = typer.main.get_command(make_app())
    others = [f"tailrace-{name}" for name in cli.COMMANDS]
    with program.make_context("tailrace", [], resilient_parsing=True) as context:
        commands = [(f"tailrace\\-{name}(1)", short_help(program.commands[name])) for name in cli.COMMANDS]
        listing = [".SH COMMANDS", *definitions(commands)]
        yield FOLDER / "tailrace.1", manual("tailrace", program, context, program.epilog, others, listing)
        for name in cli.COMMANDS:
            yield from pages_of(f"tailrace-{name}", program.commands[name], context, program.epilog, ["tailrace"])


def pages_of(name: str, command: Any, parent: Any, epilog: str, others: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """The page of a command; for a group of commands, also the page of each of its commands."""
    with command.make_context(name.rpartition("-")[2], [], parent=parent, resilient_parsing=True) as context:
        of_group = getattr(command, "commands", {})
        terms = [(f"{escaped(name)}\\-{inner}(1)", short_help(of_group[inner])) for inner in of_group]
        listing = [".SH COMMANDS", *definitions(terms)] if terms else []
        names = [f"{name}-{inner}" for inner in of_group]
        yield FOLDER / f"{name}.1", manual(name, command, context, epilog, [*others, *names], listing)
        for inner in of_group:
            yield from pages_of(f"{name}-{inner}", of_group[inner], context, epilog, [*others, name])


def manual(name: str, command: Any, context: Any, epilog: str, others: Sequence[str], listing: Sequence[str] = ()) -> str:
    text, _, examples = command.help.partition("Examples: ")
    records = {kind: [] for kind in ("argument", "option")}  # type: dict[str, list[tuple[str, str]]]
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            records[parameter.param_type_name].append((f"\\fB{escaped(record[0])}\\fR", record[1]))
    lines = [
        '.\\" Made by `make docs` from the declarations of the command line.',
        f'.TH {name.upper()} 1 "" "tailrace {tailrace.__version__}" "Tailrace"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(short_help(command))}",
        ".SH SYNOPSIS",
        f".B {escaped(name.replace('-', ' '))}",
        escaped(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *paragraphs(text),
        *listing,
    ]
    for title, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        if records[kind]:
            lines += [f".SH {title}", *definitions(records[kind])]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *(line_of(" ".join(example.split())) for example in EXAMPLE.findall(examples)), ".fi"]
    lines += [".SH EXIT STATUS", *paragraphs(epilog.partition(": ")[2])]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {escaped(other)} (1)" for other in others).replace(",\n", " ,\n")]
    return "\n".join(lines) + "\n"


def short_help(command: Any) -> str:
    """The first sentence of a command's help text."""
    return re.split(r"\.(?:\s|$)", " ".join(MARKUP.sub("", command.help).split()), maxsplit=1)[0]


def definitions(records: Sequence[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in records:
        yield ".TP"
        yield term
        yield line_of(" ".join(meaning.split()))


def paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        yield line_of(" ".join(MARKUP.sub("", paragraph).split()))


def line_of(text: str) -> str:
    """A line of text for troff. A line that begins with . or ' gets the escape \\&, because it would be a request."""
    return re.sub(r"^([.'])", r"\\&\1", escaped(text))


def escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")
