"""tailrace verify: checks that the committed steps of streams exist and are undamaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import OnlyStream
from tailrace.plain_text import quoted


def command(
    directory: Annotated[Path, typer.Argument(help="Directory with streams.")],
    stream: OnlyStream = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read every byte and compare it with its checksum.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Checks the streams of a directory; the exit status is 1 when there are problems, and each is named.

    A stream is whole, damaged, or being written. While it is being written, unfinished steps are no problem.

    Examples: [bold]tailrace verify out[/] · [bold]tailrace verify out --deep[/] · [bold]tailrace verify out -s history --json[/]
    """
    answers = _verify(directory, stream, deep)
    ok = all(answer["ok"] for answer in answers.values())
    if as_json:
        output.print_json({"ok": ok, "streams": answers})
    else:
        _print(directory, answers, deep)
    raise typer.Exit(0 if ok else 1)


def _verify(directory: Path, stream: str | None, deep: bool) -> dict[str, dict[str, Any]]:
    """The answer for each stream. Damage that prevents reading a stream is one of the problems in its answer."""
    names = [stream] if stream is not None else [path.name.removesuffix(".parts") for path in sorted(directory.glob("*.parts"))]
    if not names:
        contract.list_streams(directory)  # raises NotFound with the library's text: no directory, or no stream in it
    answers = {}
    for name in names:
        answers[name] = contract.verify(directory, name, deep=deep)
    return answers


def _print(directory: Path, answers: dict[str, dict[str, Any]], deep: bool) -> None:
    console = output.console()
    for name, answer in answers.items():
        how = "every byte compared" if deep else "sizes compared"
        counts = (
            f"{answer['steps']} steps, {output.count_text(answer['files'])} files, {output.bytes_text(answer['bytes'])} ({how})"
        )
        console.print(f"{output.escape(name)}: {_verdict(directory, name, answer)}, {counts}", soft_wrap=True)
        for problem in answer["problems"]:
            if problem["remedy"] != "index" or answer["state"] == "damaged":
                console.print(output.plain(f"  {problem['path']}: {problem['problem']}"), markup=False, soft_wrap=True)
        for note in answer["notes"]:
            console.print(output.plain(f"  note: {note}"), markup=False, soft_wrap=True)
        if any(problem["remedy"] == "repair" for problem in answer["problems"]):
            command = f"`tailrace repair {quoted(directory)} -s {quoted(name)}`"
            text = f"  {command} keeps the undamaged steps, and moves the others aside."
            console.print(output.plain(text), markup=False, soft_wrap=True)


def _verdict(directory: Path, name: str, answer: dict[str, Any]) -> str:
    """The state of a stream in words. Names `tailrace index` only if nothing is damaged: `tailrace repair` writes the index,
    too."""
    if answer["state"] == "damaged":
        return "[bold red]damaged[/]"
    if answer["state"] == "being written":
        return "[green]being written[/]"
    if answer["ok"]:
        return "[green]ok[/]"
    return f"[yellow]whole[/]; the index is missing: run {output.escape(f'`tailrace index {quoted(directory)} -s {quoted(name)}`')}"
